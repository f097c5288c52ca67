package server

import "syscall"

// bound has the kernel end a child with the thread that started it. A Ctrl-C at the terminal
// is for that thread alone.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
}
