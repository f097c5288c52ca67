package place

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// smallFile bounds in bytes what is read of a file that should hold a few lines.
const smallFile = 16 << 10

// readSmall reads a regular file of at most smallFile bytes. It waits for none: a
// file may have been replaced by a pipe.
func readSmall(path string, flags int) (content []byte, info fs.FileInfo, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > smallFile {
		return nil, nil, fmt.Errorf("%s is no file of a few lines", path)
	}
	content, err = io.ReadAll(io.LimitReader(file, smallFile))
	return content, info, err
}

// firstLine returns the first line of a small file; empty where there is none.
func firstLine(path string) string {
	content, _, err := readSmall(path, 0)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(line)
}

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// othersMayWrite are the permissions that let others change a file.
const othersMayWrite fs.FileMode = 0o022

// guarded returns why a file or folder of flame's cannot be trusted; nil where it
// can: it is this user's, no link, and nobody else may write it.
func guarded(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, and flame follows none there", path)
	case !isOwn(info):
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode()&othersMayWrite != 0:
		return fmt.Errorf("%s may be written by others (mode %o)", path, info.Mode().Perm())
	}
	return nil
}
