//go:build !linux

package gateway

// keepMemory does nothing: elsewhere only a limit prevents core files, and whatever this
// process starts would have it too.
func keepMemory() {}
