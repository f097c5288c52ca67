//go:build !linux

package place

import "syscall"

// DieWithParent returns attributes without effect: only Linux can end a child process with its parent.
func DieWithParent(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
