//go:build !linux

package place

import "syscall"

// Bound returns attributes without effect: only Linux can end a child process with its parent.
func Bound(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
