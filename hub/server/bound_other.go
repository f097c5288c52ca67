//go:build !linux

package server

import "syscall"

// bound returns nothing: only Linux ends a child with the process that started it.
func bound() *syscall.SysProcAttr { return nil }
