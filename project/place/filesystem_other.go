//go:build !linux && !darwin

package place

// filesystemOf knows no names on this system.
func filesystemOf(string) (string, error) { return "", nil }

// usedUp knows of nothing on this system.
func usedUp(string) (blocks, inodes bool) { return false, false }
