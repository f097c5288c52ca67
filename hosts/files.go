package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flame/confine"
	"flame/core"
)

// Settings are read up to these sizes, in bytes: those of a project, and the
// user's own, in which hosts also keep their histories.
const (
	maxProjects = 4 << 20
	maxOwn      = 64 << 20
)

// Files are those of one scope: the user's own, whose links may lead anywhere,
// or a project's. A project's came with a repository, so nothing read or
// written there leads out of its folder.
type Files struct {
	project string // its folder; empty for the user's own
}

// Files returns the files of a scope. A project that contains the user's home
// counts as the user's own.
func (m Machine) Files(scope Scope) Files {
	if home, err := filepath.Rel(m.ProjectDir, m.Home); scope == User || err == nil && filepath.IsLocal(home) {
		return Files{}
	}
	return Files{m.ProjectDir}
}

// look calls f with the folder through which a path is reached, its name there,
// and how much of it may be read.
func (f Files) look(path string, look func(in confine.Folder, name string, max int64) error) error {
	if f.project == "" {
		return told(path, look(confine.Follow(""), path, maxOwn))
	}
	return f.inProject(path, func(root *confine.Root, name string) error { return look(root.Folder, name, maxProjects) })
}

// inProject calls f with the project's folder, and a path's name in it.
func (f Files) inProject(path string, do func(root *confine.Root, name string) error) error {
	name, err := filepath.Rel(f.project, path)
	if err != nil {
		return err
	}
	root, err := confine.Open(f.project)
	if err != nil {
		return err
	}
	defer root.Close()
	return told(path, do(root, filepath.ToSlash(name)))
}

// told turns a refusal into advice, and adds the path to other errors.
func told(path string, err error) error {
	var refused confine.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return core.Invalidf("%s %v", path, refused).
			WithHint("flame uses only plain files and follows no link out of a project: put such a file or folder in its place")
	}
	return fmt.Errorf("%s: %w", path, err)
}

// IsMissing reports whether an error says that there is no such file.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Read returns the content of a settings file. If it is not a plain file, or
// leads out of the project, the error is a Problem.
func (f Files) Read(path string) (content []byte, err error) {
	err = f.look(path, func(in confine.Folder, name string, max int64) (err error) {
		content, err = in.ReadFile(name, max)
		return err
	})
	return content, err
}

// Check returns a Problem if a path is something other than a plain file, or if
// a link leads out of the project.
func (f Files) Check(path string) error {
	if _, err := f.Read(path); err != nil && !IsMissing(err) {
		return err
	}
	return nil
}

// Write returns the step that gives path this content and mode atomically: a
// reader finds the old file or the new one. It returns no step if nothing would
// change.
func (f Files) Write(path string, content []byte, mode fs.FileMode) ([]Step, error) {
	same := false
	err := f.look(path, func(in confine.Folder, name string, _ int64) (err error) {
		same, err = isSo(in, name, content, mode)
		return err
	})
	if same || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []Step{{Says: "write " + path, Do: func(context.Context) error { return f.replace(path, content, mode) }}}, nil
}

// isSo reports whether a file has this content and mode.
func isSo(in confine.Folder, name string, content []byte, mode fs.FileMode) (bool, error) {
	file, err := in.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() != int64(len(content)) || info.Mode().Perm() != mode {
		return false, err
	}
	there, err := io.ReadAll(io.LimitReader(file, info.Size()))
	return bytes.Equal(there, content), err
}

func (f Files) replace(path string, content []byte, mode fs.FileMode) error {
	if f.project == "" {
		return replace(path, content, mode)
	}
	return f.inProject(path, func(root *confine.Root, name string) error { return root.Replace(name, content, mode) })
}

// replace writes beside path and renames, following any links to its folder.
func replace(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := confine.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Replace(filepath.Base(path), content, mode)
}

// Remove returns the step that deletes path and the folders above it that are
// then empty, up to but excluding stop, or the project's folder.
func (f Files) Remove(path, stop string) []Step {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return []Step{{Says: "delete " + path, Do: func(context.Context) error { return f.remove(path, stop) }}}
}

func (f Files) remove(path, stop string) error {
	if f.project != "" {
		return f.inProject(path, func(root *confine.Root, name string) error { return root.Remove(name) })
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	for dir := filepath.Dir(path); dir != stop && len(dir) > len(stop); dir = filepath.Dir(dir) {
		if syscall.Rmdir(dir) != nil {
			break // not empty, so not ours alone; or a link, which is the user's
		}
	}
	return nil
}

// WriteFolder returns the step that makes dir hold exactly files, keyed by
// their paths in it. The new folder is complete before it replaces the old one.
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

// errDiffers ends a comparison.
var errDiffers = errors.New("it differs")

// holds reports whether dir has these files and no others.
func holds(dir string, files map[string][]byte) bool {
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ours := files[filepath.ToSlash(name)]
		if there, err := confine.ReadFile(path, int64(len(want))); !ours || err != nil || !bytes.Equal(there, want) {
			return errDiffers
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}
