//go:build !linux

package git

// limit does nothing where the system has no means to bound another process.
func limit(int) {}
