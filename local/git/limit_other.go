//go:build !linux

package git

// limit does nothing on systems that cannot limit another process.
func limit(int, uint64) {}
