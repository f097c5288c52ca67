package place

import (
	"slices"

	"flame/config/env"
	"flame/core"
)

// unsuited are the file systems, as filesystemOf names them, without the shared memory and
// the locks that a write-ahead log needs.
var unsuited = []string{"NFS", "SMB", "AFP", "WebDAV", "9p", "FUSE"}

// InMemory reports whether a folder is on a file system that a restart of the machine
// empties. It reports false if it does not know.
func InMemory(dir string) bool {
	name, err := filesystemOf(dir)
	return err == nil && name == "memory"
}

// CheckFilesystem returns an error if dir is on an unsuited file system, or would be.
func CheckFilesystem(dir string) error {
	name, err := filesystemOf(Nearest(dir))
	if err != nil {
		return err
	}
	return suits(dir, name)
}

// suits returns an error if the file system of dir, by its name, is unsuited.
func suits(dir, name string) error {
	if !slices.Contains(unsuited, name) {
		return nil
	}
	return core.Unavailablef(nil, "%s is on %s, where several processes cannot share a database", dir, name).
		WithHint("name a folder on a local disk with " + env.Dir)
}
