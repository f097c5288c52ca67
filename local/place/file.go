package place

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"flame/config/env"
	"flame/core"
	"flame/local/safefile"
)

// smallFile bounds, in bytes, files that should have a few lines.
const smallFile = 16 << 10

// textOf returns the text of a small file without the ends of lines after it, as git reads paths;
// empty if it cannot be read.
func textOf(path string) string {
	content, err := safefile.ReadFile(path, smallFile)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(content), "\r\n")
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

// isMissing reports whether err says that a file, or a folder in its path, does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// reason returns the system's error without the path, because the message already has it.
func reason(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// mayOthersWrite are the bits of a mode that let group or others write.
const mayOthersWrite = 0o022

// CheckOwned returns an error if flame must not use a file or folder of its own: it is a link,
// does not have the type want, belongs to another user, or others may write it.
func CheckOwned(path string, info fs.FileInfo, want fs.FileMode) error {
	kind := info.Mode().Type()
	switch {
	case kind == fs.ModeSymlink:
		return linked(path)
	case kind != want:
		return core.Unavailablef(nil, "%s is %s; flame wants %s there", path, kinds[kind], kinds[want]).
			WithHint("move it away, or name another folder with " + env.Dir + "; `flame doctor` checks again")
	case !isOwn(info):
		return core.Unavailablef(nil, "%s belongs to another user", path).
			WithHint("name a folder of your own with " + env.Dir + "; `flame doctor` checks again")
	case info.Mode().Perm()&mayOthersWrite != 0:
		return core.Unavailablef(nil, "others may write %s (mode %o)", path, info.Mode().Perm()).
			WithHint("check that its contents are yours, then chmod go-w %s; `flame doctor` checks again", path)
	}
	return nil
}

// linked returns the error for a link in the place of a file or folder.
func linked(path string) error {
	return core.Unavailablef(nil, "%s is a symbolic link, which flame does not follow there", path).
		WithHint("remove the link, or name another folder with " + env.Dir + "; `flame doctor` checks again")
}

// OpenOwn opens a file of the data folder; with O_CREATE it makes a missing one with mode
// 0600. It refuses a link in its place, and never waits for a pipe's writer.
func OpenOwn(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// ReadData reads a file of the data folder of at most max bytes. Without such a file the error is
// fs.ErrNotExist; if flame must not use it, ErrUnavailable; if it is larger, ErrInvalid.
func ReadData(path string, max int64) ([]byte, error) { return readOwn(path, max, mayOthersWrite) }

// ReadSecret is ReadData for a file that others must not read either.
func ReadSecret(path string, max int64) ([]byte, error) { return readOwn(path, max, 0o077) }

// readOwn reads a file whose mode has none of the barred bits.
func readOwn(path string, max int64, barred fs.FileMode) ([]byte, error) {
	unreadable := func(err error) error {
		return core.Unavailablef(err, "%s cannot be read: %v", path, reason(err)).
			WithHint("make it a file that you can read; `flame doctor` checks again")
	}
	file, err := OpenOwn(path, os.O_RDONLY)
	switch {
	case isMissing(err):
		return nil, fs.ErrNotExist
	case errors.Is(err, syscall.ELOOP):
		return nil, linked(path)
	case err != nil:
		return nil, unreadable(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if err := CheckOwned(path, info, 0); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&barred != 0 {
		return nil, core.Unavailablef(nil, "others may read %s (mode %o)", path, info.Mode().Perm()).
			WithHint("renew the secret in it, and run chmod 600 %s", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, max+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(content)) > max {
		return nil, core.Invalidf("%s has more than %d KB", path, max>>10).WithHint("flame did not write that: move it away")
	}
	return content, nil
}

// WriteJSON replaces a file of the data folder with a document, in lines for people.
func WriteJSON(path string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return WriteData(path, append(text, '\n'))
}

// WriteData replaces a file of the data folder, as Write does.
func WriteData(path string, content []byte) error {
	return WriteAtomic(path, 0o600, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
}
