package place

import (
	"slices"

	"flame/config/env"
	"flame/core"
)

// unsuited are the file systems without the shared memory and the locks that a
// write-ahead log needs, by the names that filesystemOf returns.
var unsuited = []string{"NFS", "SMB", "AFP", "WebDAV", "9p", "FUSE"}

// Suited returns an error if dir is, or would be, on an unsuited file system.
func Suited(dir string) error {
	name, err := filesystemOf(Nearest(dir))
	if err != nil {
		return err
	}
	return suits(dir, name)
}

// suits returns an error if the file system of this name, on which dir is, is unsuited.
func suits(dir, name string) error {
	if !slices.Contains(unsuited, name) {
		return nil
	}
	return core.Unavailablef(nil, "%s is on %s, where several processes cannot share a database", dir, name).
		WithHint("name a folder on a local disk with " + env.Dir)
}
