package server

import "syscall"

// bound has the kernel end a child with the thread that started it.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
