package place

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"flame/config/env"
	"flame/core"
)

// A Root identifies the folder that a project's data belongs to, even if another folder
// is at its path later. It is stored as noteName in the data folder.
type Root struct {
	Version     int    `json:"version"`
	Path        string `json:"root"`  // real, in the file system's own spelling
	Inode       uint64 `json:"inode"` // of the folder
	Birth       int64  `json:"birth"` // of the folder, in ns since the Unix epoch; 0 if the file system does not record it
	FirstCommit string `json:"firstCommit,omitempty"`
}

const (
	noteName    = "project.json"
	noteVersion = 1
)

// rootOf returns the Root of the folder at a real path, without its first commit.
func rootOf(path string) (Root, error) {
	inode, birth, err := identify(path)
	return Root{Version: noteVersion, Path: path, Inode: inode, Birth: birth}, err
}

// sameFolder reports whether both are the same folder of the file system, even if it was
// moved.
func (r Root) sameFolder(other Root) bool { return r.Inode == other.Inode && r.Birth == other.Birth }

// is reports whether a folder is the one that r was noted for: the same folder, or one
// with the same first commit, as a new clone of the repository has. Git runs only if the
// folder is not the same (DESIGN §4).
func (r Root) is(ctx context.Context, now Root, firstCommit func(context.Context) (string, error)) (bool, error) {
	if r.sameFolder(now) {
		return true, nil
	}
	if r.FirstCommit == "" {
		return false, nil
	}
	commit, err := firstCommit(ctx)
	return commit == r.FirstCommit, err
}

// Git returns the id of the first commit of the repository in a folder; empty if there is
// none or it is not known.
type Git func(ctx context.Context, dir string) (commit string, err error)

// readNote reads whose data a folder holds. The error for a missing or empty folder is
// fs.ErrNotExist; a folder with other content but no note is not flame's to use.
func readNote(folder string) (Root, error) {
	path := filepath.Join(folder, noteName)
	content, info, err := readSmall(path, syscall.O_NOFOLLOW)
	switch {
	case isMissing(err):
		return Root{}, withoutNote(folder, err)
	case err != nil:
		return Root{}, unusable(err, "%v", err)
	}
	if err := Trusted(path, info, 0); err != nil {
		return Root{}, err
	}
	var root Root
	switch err := json.Unmarshal(content, &root); {
	case err != nil || root.Version < 1:
		return Root{}, unusable(err, "%s cannot be read", path)
	case root.Version > noteVersion:
		return Root{}, core.Unavailablef(nil, "%s was written by a newer flame", path).WithHint("install the newest flame")
	}
	return root, nil
}

// withoutNote returns the error for a folder without a note: missing if it does not exist
// or is new, else a Problem.
func withoutNote(folder string, missing error) error {
	entries, err := os.ReadDir(folder)
	switch {
	case isMissing(err) || err == nil && len(entries) == 0:
		return missing
	case err != nil:
		return unusable(err, "%s cannot be read: %v", folder, reason(err))
	}
	return unusable(nil, "%s does not say which project's data it holds: it has no %s", folder, noteName)
}

// unusable returns the Problem of a data folder that flame neither reads nor writes.
func unusable(cause error, format string, args ...any) error {
	return core.Unavailablef(cause, format, args...).
		WithHint("repair it or move it away, or name another folder for all data with " + env.Dir + "; `flame doctor` shows what there is")
}

// reason returns the system's error without the path, which the message has already.
func reason(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// writeNote writes the note into a folder, whole or not at all.
func writeNote(folder string, root Root) (err error) {
	content, err := json.Marshal(root)
	if err != nil {
		return err
	}
	beside, err := os.CreateTemp(folder, noteName+".")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	_, err = beside.Write(append(content, '\n'))
	if err := errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return err
	}
	return cmp.Or(os.Rename(beside.Name(), filepath.Join(folder, noteName)), SyncFolder(folder))
}

// SyncFolder makes the entries of a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
