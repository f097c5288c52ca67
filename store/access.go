package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flame/project/place"
)

// known are the files that flame and SQLite open in the data folder by their
// names.
var known = []string{fileName, fileName + "-wal", fileName + "-shm", fileName + "-journal", lockName, logName, logName + oldLog}

// examine reports whether the data folder dir is there, and refuses one that is
// not the user's alone: what lies in it could be another's, or lead elsewhere. It
// opens nothing, so that nothing in the folder can make it wait.
func examine(dir string) (there bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, place.Suited(dir)
	}
	if err != nil {
		return false, err
	}
	if err := place.Trusted(dir, info, fs.ModeDir); err != nil {
		return false, err
	}
	for _, name := range known {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = place.Trusted(path, info, 0)
		}
		if err != nil {
			return false, err
		}
	}
	return true, place.Suited(dir)
}

// openOwn opens a file of the data folder, which is made 0600 with O_CREATE. What
// has come into its place since examine saw it is not followed or waited for.
func openOwn(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
