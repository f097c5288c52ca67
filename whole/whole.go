// Package whole writes files whole or not at all: whoever reads one finds what was there
// before or all that was written, also after a crash.
package whole

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"flame/core"
)

// Write replaces a file by the output of write. It writes a temporary file in the same
// folder, and renames it once it is on disk. A link is replaced, not followed; what is no
// file, such as a device, is refused.
func Write(file string, mode fs.FileMode, write func(io.Writer) error) error {
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

// Save is Write for a place that a person names: where a link leads, the file there is
// replaced, and a device or a pipe is written to.
func Save(file string, mode fs.FileMode, write func(io.Writer) error) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if !isSpecial(file) {
		return Write(file, mode, write)
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
