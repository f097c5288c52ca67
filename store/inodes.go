//go:build linux || darwin

package store

import "syscall"

// usedUp reports what the file system of dir has none left of. One that counts no
// inodes always has another.
func usedUp(dir string) (blocks, inodes bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return false, false
	}
	return st.Bavail == 0, st.Files > 0 && st.Ffree == 0
}
