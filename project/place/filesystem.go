package place

import (
	"slices"

	"flame/config/env"
	"flame/core"
)

// unsuited are the file systems without the shared memory and the locks that a
// write-ahead log needs, by the names that filesystemOf gives.
var unsuited = []string{"NFS", "SMB", "AFP", "WebDAV", "9p", "FUSE"}

// Suited refuses a data folder on a file system that is not suited.
func Suited(dir string) error {
	name, err := filesystemOf(Nearest(dir))
	if err != nil {
		return err
	}
	return suits(dir, name)
}

// suits reports whether dir may be on the file system of this name.
func suits(dir, name string) error {
	if !slices.Contains(unsuited, name) {
		return nil
	}
	return core.Unavailablef(nil, "%s is on %s, where several processes cannot share a database", dir, name).
		WithHint("name a folder on a local disk with " + env.Dir)
}
