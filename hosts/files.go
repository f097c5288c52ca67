package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// WriteFile is the step that gives path this content and mode, in one move: a
// reader finds the old file or the new one. No step when it is so already.
func WriteFile(path string, content []byte, mode fs.FileMode) ([]Step, error) {
	there, err := os.ReadFile(path)
	if err == nil && bytes.Equal(there, content) && hasMode(path, mode) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is there: %w", err)
	}
	return []Step{{Says: "write " + path, Do: func(context.Context) error {
		return replace(path, content, mode)
	}}}, nil
}

// RemoveFile is the step that deletes path, and the folders above it that are
// empty then, up to but without the folder stop.
func RemoveFile(path, stop string) []Step {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return []Step{{Says: "delete " + path, Do: func(context.Context) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		for dir := filepath.Dir(path); dir != stop && len(dir) > len(stop); dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // not empty, so not ours alone
			}
		}
		return nil
	}}}
}

// WriteFolder is the step that makes dir hold exactly files, by their paths in
// it. The new folder is complete before it takes the old one's place.
func WriteFolder(dir string, files map[string][]byte) []Step {
	if holds(dir, files) {
		return nil
	}
	return []Step{{Says: "write " + dir, Do: func(context.Context) error {
		return replaceFolder(dir, files)
	}}}
}

func replaceFolder(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, "new")
	for name, content := range files {
		if err := replace(filepath.Join(fresh, filepath.FromSlash(name)), content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, filepath.Join(beside, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, dir)
}

// holds reports whether dir has these files and no others.
func holds(dir string, files map[string][]byte) bool {
	there := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		there[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	return err == nil && maps.EqualFunc(there, files, bytes.Equal)
}

// replace writes beside path and renames, so that a program that runs from the
// old file keeps it.
func replace(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func hasMode(path string, mode fs.FileMode) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm() == mode
}
