package place

import "syscall"

// identify returns a folder's inode and time of birth in ns.
func identify(path string) (inode uint64, birth int64, err error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		return 0, 0, err
	}
	return stat.Ino, stat.Birthtimespec.Nano(), nil
}
