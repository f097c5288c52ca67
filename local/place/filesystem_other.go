//go:build !linux && !darwin

package place

// filesystemOf returns no name on this system.
func filesystemOf(string) (string, error) { return "", nil }
