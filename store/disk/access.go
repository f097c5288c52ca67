package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"flame/local/place"
)

// The files of the data folder.
const (
	// Name is the database; SQLite keeps its log and its shared memory beside it.
	Name = "flame.db"
	// LockName is the file whose lock orders the writers of all processes.
	// SQLite itself sleeps and polls, with which some writers wait ten times
	// longer.
	LockName = "flame.lock"

	logName = "flame.log" // the log beside the database
	oldLog  = ".1"        // suffix of the previous log
)

// known are the files that flame and SQLite open by name in the data folder.
var known = []string{Name, Name + "-wal", Name + "-shm", Name + "-journal", LockName, logName, logName + oldLog}

// CheckFolder reports whether the data folder dir exists. It returns an error unless the folder
// belongs to the user alone: otherwise its content could be another user's, or lead elsewhere.
// It opens nothing, so that nothing in the folder can make it wait.
func CheckFolder(dir string) (there bool, err error) { return examine(dir, known...) }

// examine is Examine for the files with these names.
func examine(dir string, names ...string) (there bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, place.CheckFilesystem(dir)
	}
	if err != nil {
		return false, err
	}
	if err := place.CheckOwned(dir, info, fs.ModeDir); err != nil {
		return false, err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = place.CheckOwned(path, info, 0)
		}
		if err != nil {
			return false, err
		}
	}
	return true, place.CheckFilesystem(dir)
}

// CreateAtomic creates a file at path with fill: either complete and on disk, or not at all.
func CreateAtomic(path string, fill func(unfinished string) error) error {
	unfinished := path + ".unfinished"
	if err := removeDatabase(unfinished); err != nil { // left by a process that was killed
		return err
	}
	if err := filled(unfinished, fill); err != nil {
		return errors.Join(err, removeDatabase(unfinished))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// filled creates the file at path and fills it.
func filled(path string, fill func(path string) error) error {
	file, err := place.OpenOwn(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if err = fill(path); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// removeDatabase removes a database with everything SQLite keeps beside it.
func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.RemoveAll(path + suffix); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the entries of a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Size returns the size of the file at path in bytes; 0 if there is none.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
