//go:build linux || darwin

package disk

import "syscall"

// UsedUp reports what the file system of dir has run out of. One that does not
// count inodes never runs out of them.
func UsedUp(dir string) (blocks, inodes bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return false, false
	}
	return st.Bavail == 0, st.Files > 0 && st.Ffree == 0
}
