package place

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// realPath returns the canonical name of a folder: absolute, without links, in the spelling of
// the file system. On a volume that ignores case, all spellings lead to the same folder,
// and must lead to the same data.
func realPath(dir string) (string, error) {
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return disk.respell(path), nil
}

// A volume is the part of a file system that spelling needs.
type volume struct {
	same func(a, b string) bool             // reports whether both paths lead to the same entry
	list func(dir string) ([]string, error) // returns the names of the entries of a folder
}

// disk is the real volume.
var disk = volume{same: sameEntry, list: func(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}}

// respell corrects the spelling of each part of a path. It lists folders only on volumes that
// ignore case.
func (v volume) respell(path string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	spelled, name := v.respell(parent), filepath.Base(path)
	if v.ignoresCase(path, name) {
		name = v.spellingOf(path, name)
	}
	return filepath.Join(spelled, name)
}

// ignoresCase reports whether the folder of path ignores the case of its name.
func (v volume) ignoresCase(path, name string) bool {
	other := strings.Map(swapCase, name)
	return other != name && v.same(path, filepath.Join(filepath.Dir(path), other))
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// spellingOf returns the name by which the folder of path lists it.
func (v volume) spellingOf(path, name string) string {
	names, err := v.list(filepath.Dir(path))
	if err != nil || slices.Contains(names, name) {
		return name
	}
	for _, listed := range names {
		if v.same(path, filepath.Join(filepath.Dir(path), listed)) {
			return listed
		}
	}
	return name
}

// sameEntry is same without following a link at the end of either path.
func sameEntry(a, b string) bool {
	ib, err := os.Lstat(b) // usually missing
	if err != nil {
		return false
	}
	ia, err := os.Lstat(a)
	return err == nil && os.SameFile(ia, ib)
}
