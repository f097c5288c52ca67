package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flame/project/place"
)

// The files of the data folder.
const (
	// Name is the database; SQLite keeps its log and its shared memory beside it.
	Name = "flame.db"
	// LockName is the file whose lock orders the writers of all processes.
	// SQLite's own waiting sleeps and polls, which makes the unlucky wait ten
	// times longer.
	LockName = "flame.lock"

	logName = "flame.log" // the log beside the database
	oldLog  = ".1"        // suffix of the previous log
)

// known are the files that flame and SQLite open by name in the data folder.
var known = []string{Name, Name + "-wal", Name + "-shm", Name + "-journal", LockName, logName, logName + oldLog}

// Examine reports whether the data folder dir exists, and refuses one that is
// not the user's alone: its content could be another's, or lead elsewhere. It
// opens nothing, so that nothing in the folder can make it wait.
func Examine(dir string) (there bool, err error) { return examine(dir, known...) }

// examine is Examine for some of the files.
func examine(dir string, names ...string) (there bool, err error) {
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
	for _, name := range names {
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

// OpenOwn opens a file of the data folder, creating it 0600 with O_CREATE. It
// neither follows nor waits for what has replaced the file since Examine saw
// it.
func OpenOwn(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
