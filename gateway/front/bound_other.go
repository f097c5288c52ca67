//go:build !linux

package front

import "syscall"

// bound returns nothing: only Linux ends a program with the process that started it.
func bound() *syscall.SysProcAttr { return nil }
