// Package safefile reads and writes files that other people may have made: a
// repository can contain links to any path, pipes without a writer and endless
// files. A Root opens the files of a project's folder and follows no link out of
// it; Follow opens files in the user's own folders and follows all links. Both
// read only regular files, never block, and limit sizes.
package safefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// A Refusal is the reason why a file was refused. It completes a sentence that begins
// with the file's path.
type Refusal string

// Error returns the reason.
func (r Refusal) Error() string { return string(r) }

// The reasons, except for the file's size.
const (
	Outside   Refusal = "leads out of the project"
	Irregular Refusal = "is not a regular file"
)

// A Folder opens files by slash-separated names relative to it.
type Folder struct {
	open func(name string, flags int) (*os.File, error)
}

// Follow returns the folder dir, which need not exist. It follows links to any path.
func Follow(dir string) Folder {
	return Folder{func(name string, flags int) (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, name), flags, 0)
	}}
}

// ReadFile returns the content of one of the user's own files, as Folder.ReadFile does.
func ReadFile(path string, max int64) ([]byte, error) { return Follow("").ReadFile(path, max) }

// careful are the flags of an open call without side effects: it does not wait for a
// pipe's writer, and a terminal does not become this process's controlling terminal.
const careful = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// Open opens a regular file for reading. It checks the type of the open file, so
// another process cannot replace the file between check and use.
func (f Folder) Open(name string) (*os.File, error) {
	file, err := f.open(name, careful)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = Irregular
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// ReadFile returns the content of a regular file. It refuses a file with more than
// max bytes, and does not trust the size that the file system reports.
func (f Folder) ReadFile(name string, max int64) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tooLarge := Refusal(fmt.Sprintf("is larger than %d KB", max>>10))
	if info, err := file.Stat(); err == nil && info.Size() > max {
		return nil, tooLarge
	}
	content, err := io.ReadAll(io.LimitReader(file, max+1))
	if err == nil && int64(len(content)) > max {
		return nil, tooLarge
	}
	return content, err
}

// ReadDir returns at most max entries of a folder, sorted by name, and reports whether
// the folder has more.
func (f Folder) ReadDir(name string, max int) (entries []fs.DirEntry, more bool, err error) {
	dir, err := f.open(name, careful|syscall.O_DIRECTORY)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	entries, err = dir.ReadDir(max + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if more = len(entries) > max; more {
		entries = entries[:max]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, more, err
}

// Stat describes the file that a name leads to. It returns an error if the file must not
// be opened.
func (f Folder) Stat(name string) (fs.FileInfo, error) {
	file, err := f.open(name, careful)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}
