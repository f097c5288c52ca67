package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flame/core"
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
		return false, checkFilesystem(dir)
	}
	if err != nil {
		return false, err
	}
	if err := refuse(dir, info, fs.ModeDir); err != nil {
		return false, err
	}
	for _, name := range known {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = refuse(path, info, 0)
		}
		if err != nil {
			return false, err
		}
	}
	return true, checkFilesystem(dir)
}

// kinds name the types of files.
var kinds = map[fs.FileMode]string{
	0:                                 "a file",
	fs.ModeDir:                        "a folder",
	fs.ModeNamedPipe:                  "a pipe",
	fs.ModeSocket:                     "a socket",
	fs.ModeDevice:                     "a device",
	fs.ModeDevice | fs.ModeCharDevice: "a device",
}

// mayOthersWrite are the bits of a mode that let group or others write.
const mayOthersWrite = 0o022

// refuse returns what speaks against the use of path, which should be of the type
// want.
func refuse(path string, info fs.FileInfo, want fs.FileMode) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	kind := info.Mode().Type()
	switch {
	case kind == fs.ModeSymlink:
		return core.Unavailablef(nil, "%s is a symbolic link; flame follows none in its data folder", path).
			WithHint("remove the link, or name another folder with FLAME_DIR; `flame doctor` looks again")
	case kind != want:
		return core.Unavailablef(nil, "%s is %s; flame wants %s there", path, kinds[kind], kinds[want]).
			WithHint("move it away, or name another folder with FLAME_DIR; `flame doctor` looks again")
	case owner != os.Geteuid():
		return core.Unavailablef(nil, "%s belongs to another user (uid %d)", path, owner).
			WithHint("name a folder of your own with FLAME_DIR; `flame doctor` looks again")
	case info.Mode().Perm()&mayOthersWrite != 0:
		return core.Unavailablef(nil, "others may write %s (mode %o)", path, info.Mode().Perm()).
			WithHint("make sure that what is in it is yours, then chmod go-w %s; `flame doctor` looks again", path)
	}
	return nil
}

// openOwn opens a file of the data folder, which is made 0600 with O_CREATE. What
// has come into its place since examine saw it is not followed or waited for.
func openOwn(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
