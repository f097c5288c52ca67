//go:build !linux

package server

// inMemory reports whether a folder is on a file system that is kept in memory; here that
// is not known.
func inMemory(string) bool { return false }
