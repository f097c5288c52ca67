package place

import "syscall"

// DieWithParent returns attributes with which the kernel sends a child process the signal end when the
// thread that started it ends.
func DieWithParent(end syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: end}
}
