package disk

import (
	"errors"
	"os"
	"path/filepath"
)

// PutWhole creates a file at path with fill: complete and on disk, or not at
// all.
func PutWhole(path string, fill func(unfinished string) error) error {
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
	file, err := OpenOwn(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
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
