//go:build !linux

package server

import "syscall"

// bound keeps a Ctrl-C at the terminal from a child. Only Linux ends one with the process
// that started it.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
