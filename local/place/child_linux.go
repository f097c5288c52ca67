package place

import "syscall"

// Bound returns attributes with which the kernel sends a child process the signal end when the
// thread that started it ends.
func Bound(end syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: end} }
