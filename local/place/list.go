package place

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// A State is the state of the project's folder that data belongs to.
type State string

// The states of a project's folder.
const (
	Present  State = "present"  // it is at its path
	Gone     State = "gone"     // nothing is at its path
	Replaced State = "replaced" // another folder is at its path
)

// ProjectData is the data of one project.
type ProjectData struct {
	Name  string `json:"name"` // of its folder, in the folder of all data
	Root  string `json:"root"` // real path of the project's folder
	State State  `json:"state"`
	Data  string `json:"data"` // path of the folder

	note Root
}

// List returns the data of all projects, by name. It leaves out folders without a valid
// note.
func (f *Folder) List() ([]ProjectData, error) {
	if f.base == "" {
		return nil, f.failed
	}
	entries, err := os.ReadDir(f.base)
	if err != nil && !isMissing(err) {
		return nil, unusable(err, "%s cannot be read: %v", f.base, reason(err))
	}
	var all []ProjectData
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(f.base, entry.Name())
		if note, err := noteOf(path); err == nil {
			all = append(all, ProjectData{Name: entry.Name(), Root: note.Path, State: note.state(path), Data: path, note: note})
		}
	}
	return all, nil
}

// state returns the state of the root r, whose note is in a data folder.
func (r Root) state(folder string) State {
	now, err := rootOf(r.Path)
	switch {
	case err != nil:
		return Gone
	case filepath.Base(folder) != folderName(r.Path) || !r.sameFolder(now) && r.FirstCommit == "":
		return Replaced
	}
	return Present
}

// Find returns the data that a user names: by its name in the list, its path, or the
// project's path.
func (f *Folder) Find(named string) (ProjectData, error) {
	all, err := f.List()
	if err != nil {
		return ProjectData{}, err
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return ProjectData{}, err
	}
	for _, same := range []func(ProjectData) bool{
		func(k ProjectData) bool { return k.Name == named || k.Data == path },
		func(k ProjectData) bool { return k.Root == path },
	} {
		if i := slices.IndexFunc(all, same); i >= 0 {
			return all[i], nil
		}
	}
	return ProjectData{}, core.NotFoundf("%[2]s has no data of a project %[1]q", named, f.base).
		WithHint("`flame projects` lists the projects; give a name or the project's path")
}

// Candidates returns data that this project may have had before it was moved: data whose
// root is gone, and was the same folder or had the same first commit.
func (f *Folder) Candidates(ctx context.Context) ([]ProjectData, error) {
	all, err := f.List()
	gone := slices.DeleteFunc(all, func(k ProjectData) bool { return k.State != Gone })
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	now, err := rootOf(f.Root)
	if err != nil {
		return nil, err
	}
	if now.FirstCommit, err = f.firstCommit(ctx); err != nil {
		now.FirstCommit = "" // only the folder itself counts
	}
	return slices.DeleteFunc(gone, func(k ProjectData) bool {
		return !k.note.sameFolder(now) && (now.FirstCommit == "" || k.note.FirstCommit != now.FirstCommit)
	}), nil
}

// Adopt takes over the data of a project that was moved, and sets this project's own data
// aside, see Notice.
func (f *Folder) Adopt(ctx context.Context, old ProjectData) error {
	if old.State == Present && old.Data != f.Path {
		return core.Invalidf("%s is the data of %s, which still exists", old.Name, old.Root).
			WithHint("move or remove that folder first, or take its frames over with `flame export` there and `flame import` here")
	}
	now, err := rootOf(f.Root)
	if err != nil {
		return err
	}
	if now.FirstCommit, err = f.firstCommit(ctx); err != nil {
		return err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if old.Data != f.Path {
		if err := f.setAside(); err != nil {
			return err
		}
		if err := os.Rename(old.Data, f.Path); err != nil {
			return unusable(err, "%s cannot be moved to %s: %v", old.Data, f.Path, reason(err))
		}
	}
	return cmp.Or(writeNote(f.Path, now), SyncFolder(f.base))
}

// Delete deletes the data of a project.
func (f *Folder) Delete(ctx context.Context, old ProjectData) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// A rename removes the folder in one step, so that processes that use it notice.
	doomed, err := os.MkdirTemp(f.base, ".deleted-")
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(old.Data, filepath.Join(doomed, "data")), os.RemoveAll(doomed))
}

// NoteFirstCommit notes the first commit of a repository unless the data has it. It is too
// slow for hooks: git reads the whole history.
func (f *Folder) NoteFirstCommit(ctx context.Context) error {
	if there, err := f.Ready(ctx, false); !there || err != nil {
		return err
	}
	note, err := noteOf(f.Path)
	if err != nil || note.FirstCommit != "" {
		return err
	}
	if note.FirstCommit, err = f.firstCommit(ctx); err != nil || note.FirstCommit == "" {
		return err
	}
	return writeNote(f.Path, note)
}

// Size returns the size of the data in bytes, and the time of its last change.
func (k ProjectData) Size(ctx context.Context) (bytes int64, last time.Time, err error) {
	err = filepath.WalkDir(k.Data, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), ignored(err))
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			return ignored(err)
		}
		if bytes += info.Size(); info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return bytes, last, err
}

// ignored drops an error about one of many files: it may have been deleted meanwhile.
func ignored(error) error { return nil }
