package front

import "syscall"

// bound has a program end when the process that started it is gone, however it ended.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
