package place

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"flame/config/env"
	"flame/core"
)

// A Root identifies the folder that a project's data belongs to, even if another folder is at
// its path later. The data folder stores it as noteName.
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

// sameFolder reports whether both are the same folder of the file system. A move does not
// change that.
func (r Root) sameFolder(other Root) bool { return r.Inode == other.Inode && r.Birth == other.Birth }

// is reports whether r is the note of a folder: it is the same folder, or it has the same
// first commit, like a new clone of the repository. Git runs only if it is another folder.
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

// Git returns the id of the first commit of the repository in a folder; empty if it has none
// or git does not know it.
type Git func(ctx context.Context, dir string) (commit string, err error)

// noteOf reads the note of a data folder, if flame trusts the folder. The error for a missing or
// empty folder is fs.ErrNotExist. Flame does not use a folder with other content but without
// a note.
func noteOf(folder string) (Root, error) {
	if info, err := os.Lstat(folder); err != nil {
		return Root{}, unlessMissing(err, folder)
	} else if err := CheckOwned(folder, info, fs.ModeDir); err != nil {
		return Root{}, err
	}
	path := filepath.Join(folder, noteName)
	content, err := ReadData(path, smallFile)
	switch {
	case isMissing(err):
		return Root{}, withoutNote(folder, err)
	case err != nil:
		return Root{}, unusable(err, "%v", err)
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

// unlessMissing returns fs.ErrNotExist as it is, and a Problem for any other error of a
// folder.
func unlessMissing(err error, folder string) error {
	if isMissing(err) {
		return err
	}
	return unusable(err, "%s cannot be used: %v", folder, reason(err))
}

// withoutNote returns the error for a folder without a note: missing if the folder does not
// exist or is empty, else a Problem.
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
		WithHint("repair it or move it away, or name another folder for all data with " + env.Dir + "; `flame doctor` shows the data folders")
}

// writeNote writes the note of a folder atomically.
func writeNote(folder string, root Root) error {
	content, err := json.Marshal(root)
	if err != nil {
		return err
	}
	return cmp.Or(WriteData(filepath.Join(folder, noteName), append(content, '\n')), SyncFolder(folder))
}

// SyncFolder makes the entries of a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
