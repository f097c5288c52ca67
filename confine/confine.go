// Package confine reads and writes files without trusting who made them: a
// repository may ship links to anywhere, pipes that never answer and endless
// files. Files in a project's folder go through a Root, which no link leads out
// of; files in the user's own folders go through Follow, where links may lead
// anywhere. Either way only regular files are read, none blocks, and everything
// is bounded. It does not know what files mean.
package confine

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

// A Refusal says why something was not touched, as the rest of a sentence that
// begins with its path.
type Refusal string

// Error returns the refusal's words.
func (r Refusal) Error() string { return string(r) }

// Why something is not touched, apart from its size.
const (
	Outside   Refusal = "leads out of the project"
	Irregular Refusal = "is not a regular file"
)

// A Folder is read by slash-separated names relative to it.
type Folder struct {
	open func(name string, flags int) (*os.File, error)
}

// Follow returns the folder dir, whose links may lead anywhere. It need not exist.
func Follow(dir string) Folder {
	return Folder{func(name string, flags int) (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, name), flags, 0)
	}}
}

// ReadFile returns the content of a file of the user's own, at most max bytes;
// see Folder.ReadFile.
func ReadFile(path string, max int64) ([]byte, error) { return Follow("").ReadFile(path, max) }

// careful opens without side effects on what is opened: it does not wait for a
// pipe, and a terminal does not become this process's.
const careful = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// Open opens a regular file for reading. It checks the type after opening, so
// that nobody can swap the file in between.
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

// ReadFile returns the content of a regular file. It refuses one with more than
// max bytes, whatever size it claims to have.
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

// ReadDir returns at most max entries of a folder, by name, and whether it has
// more.
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

// Stat describes what a name leads to, or returns an error for what must not be
// read.
func (f Folder) Stat(name string) (fs.FileInfo, error) {
	file, err := f.open(name, careful)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Stat()
}
