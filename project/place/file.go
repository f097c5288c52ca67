package place

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"flame/config/env"
	"flame/core"
)

// smallFile is the greatest size in bytes of a file that should hold a few lines.
const smallFile = 16 << 10

// readSmall reads a regular file of at most smallFile bytes. It never blocks, even if the
// file was replaced by a pipe.
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
		return nil, nil, fmt.Errorf("%s is not a file of a few lines", path)
	}
	content, err = io.ReadAll(io.LimitReader(file, smallFile))
	return content, info, err
}

// firstLine returns the first line of a small file; empty if it cannot be read.
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

// Trusted returns an error if flame must not use one of its files or folders, which should
// be of the type want: it is a link, has another type, belongs to another user, or can be
// written by others.
func Trusted(path string, info fs.FileInfo, want fs.FileMode) error {
	kind := info.Mode().Type()
	switch {
	case kind == fs.ModeSymlink:
		return core.Unavailablef(nil, "%s is a symbolic link, which flame does not follow there", path).
			WithHint("remove the link, or name another folder with " + env.Dir + "; `flame doctor` looks again")
	case kind != want:
		return core.Unavailablef(nil, "%s is %s; flame wants %s there", path, kinds[kind], kinds[want]).
			WithHint("move it away, or name another folder with " + env.Dir + "; `flame doctor` looks again")
	case !isOwn(info):
		return core.Unavailablef(nil, "%s belongs to another user", path).
			WithHint("name a folder of your own with " + env.Dir + "; `flame doctor` looks again")
	case info.Mode().Perm()&mayOthersWrite != 0:
		return core.Unavailablef(nil, "others may write %s (mode %o)", path, info.Mode().Perm()).
			WithHint("make sure that what is in it is yours, then chmod go-w %s; `flame doctor` looks again", path)
	}
	return nil
}
