package place

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"flame/core"
)

// WriteAtomic replaces a file with the output of write atomically, also if the machine crashes: it
// writes a temporary file in the same folder, and renames that once it is on disk. It replaces a
// link instead of following it, and refuses a path that is not a file, such as a device.
func WriteAtomic(file string, mode fs.FileMode, write func(io.Writer) error) error {
	if isSpecial(file) {
		return core.Invalidf("%s is not a regular file", file).WithHint("name another")
	}
	beside, err := os.CreateTemp(filepath.Dir(file), ".flame-*")
	if errors.Is(err, fs.ErrNotExist) {
		return core.NotFoundf("the folder %s does not exist", filepath.Dir(file)).WithHint("make it first, or name another")
	}
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	to := bufio.NewWriter(beside)
	if err := errors.Join(write(to), to.Flush(), beside.Chmod(mode), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), file)
}

// Save is Write for a path that a person names: it replaces the file that a link leads to, and
// writes to a device or a pipe.
func Save(file string, mode fs.FileMode, write func(io.Writer) error) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if !isSpecial(file) {
		return WriteAtomic(file, mode, write)
	}
	to, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(to), to.Close())
}

// isSpecial reports whether something is there that is neither a file nor a link.
func isSpecial(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0
}
