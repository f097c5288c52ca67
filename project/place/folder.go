package place

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flame/config/env"
	"flame/core"
)

// A Folder is the folder with a project's data. It is examined when it is first used, and
// made by the first write.
type Folder struct {
	Path string // empty if there is no place for it
	Root string // real path of the project's folder; empty if Path is

	// Hurried is for hooks: git is not run when the folder is made; NoteFirstCommit
	// does that later.
	Hurried bool

	base     string // the folder of all projects' data
	checkout string // where git runs
	git      Git
	failed   error // why there is no place for it

	mu     sync.Mutex
	used   bool   // it was found, or made
	notice string // see Notice
}

// FolderOf returns the data folder of a project. If there is no place for it, every use
// returns an error that says what to do.
func FolderOf(p Place, s Surroundings, git Git) *Folder {
	f := &Folder{checkout: p.Worktree, git: git}
	if f.base, f.failed = s.base(); f.failed != nil {
		return f
	}
	root, err := realPath(p.Dir)
	if err != nil {
		f.failed = core.NotFoundf("the project's folder %s cannot be reached: %v", p.Dir, reason(err))
		return f
	}
	// Below a home folder, or a folder above it, there is the data of all projects.
	if leadsInto(f.base, root) && !within(s.Home, root) {
		f.failed = core.Invalidf("the data of %s would lie in it, in %s", root, f.base).
			WithHint("set " + env.Dir + " to a folder outside of any project")
		return f
	}
	f.Root, f.Path = root, filepath.Join(f.base, folderName(root))
	return f
}

// leadsInto reports whether path is in root, following links.
func leadsInto(path, root string) bool {
	real, err := filepath.EvalSymlinks(Nearest(path))
	if err != nil {
		return false // a folder that cannot be reached cannot be used either
	}
	in, err := os.Stat(root)
	if err != nil {
		return false
	}
	for dir := range upwards(real, "") {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, in) {
			return true
		}
	}
	return false
}

// Nearest returns path, or the nearest folder above it that exists.
func Nearest(path string) string {
	for {
		_, err := os.Stat(path)
		if above := filepath.Dir(path); isMissing(err) && above != path {
			path = above
			continue
		}
		return path
	}
}

// Ready reports whether the folder can be used, and with write makes it if need be. For
// readers, data of another root that was at the same path does not exist; a writer sets it
// aside. Ready returns a Problem for a folder that cannot be trusted, see Trusted.
func (f *Folder) Ready(ctx context.Context, write bool) (bool, error) {
	if f.failed != nil {
		return false, f.failed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used {
		return true, nil
	}
	now, err := rootOf(f.Root)
	if err != nil {
		return false, core.NotFoundf("the project's folder %s is gone: %v", f.Root, reason(err))
	}
	kept, ours, err := f.find(ctx, now)
	switch {
	case err != nil || !ours && !write:
		return false, err
	case !ours:
		err = f.make(ctx, now)
	case write && !kept.sameFolder(now): // cloned anew
		now.FirstCommit = kept.FirstCommit
		err = writeNote(f.Path, now)
	}
	f.used = err == nil
	return f.used, err
}

// Notice says what became of the data of another root; empty if there was none, or before
// Ready looked.
func (f *Folder) Notice() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notice
}

// find reads the folder's note and reports whether it holds the data of this root.
func (f *Folder) find(ctx context.Context, now Root) (kept Root, ours bool, err error) {
	kept, err = f.note()
	if isMissing(err) {
		return kept, false, nil
	}
	if err != nil {
		return kept, false, err
	}
	ours, err = kept.is(ctx, now, f.firstCommit)
	switch {
	case err != nil:
		err = unusable(err, "%s may be the data of another folder that stood at %s, and git does not tell: %v", f.Path, f.Root, err)
	case !ours:
		f.notice = fmt.Sprintf("%s holds the data of another folder that stood at %s before, so it is not used; "+
			"`flame where --adopt %[1]s` takes it over", f.Path, f.Root)
	}
	return kept, ours, err
}

// firstCommit returns the project's first commit; empty without git.
func (f *Folder) firstCommit(ctx context.Context) (string, error) {
	if f.git == nil {
		return "", nil
	}
	return f.git(ctx, f.checkout)
}

// note reads whose data the folder holds, if it can be trusted. The error for a missing
// folder is fs.ErrNotExist.
func (f *Folder) note() (Root, error) {
	if info, err := os.Stat(f.base); err != nil {
		return Root{}, unlessMissing(err, f.base)
	} else if err := Trusted(f.base, info, fs.ModeDir); err != nil {
		return Root{}, err
	}
	return noteOf(f.Path)
}

// noteOf is note for any data folder.
func noteOf(folder string) (Root, error) {
	info, err := os.Lstat(folder)
	if err != nil {
		return Root{}, unlessMissing(err, folder)
	}
	if err := Trusted(folder, info, fs.ModeDir); err != nil {
		return Root{}, err
	}
	return readNote(folder)
}

// unlessMissing returns fs.ErrNotExist as it is, and a Problem for any other error that
// keeps a folder from being used.
func unlessMissing(err error, folder string) error {
	if isMissing(err) {
		return err
	}
	return unusable(err, "%s cannot be used: %v", folder, reason(err))
}

// make makes the folder, and sets aside another root's folder in its place. Only one of
// several processes does so.
func (f *Folder) make(ctx context.Context, now Root) error {
	if err := Suited(f.base); err != nil {
		return err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, ours, err := f.find(ctx, now); ours || err != nil {
		return err // another process has made it
	}
	if err := f.setAside(); err != nil {
		return err
	}
	now.FirstCommit = f.firstCommitSoon(ctx)
	fresh, err := os.MkdirTemp(f.base, ".new-")
	if err != nil {
		return cannotMake(f.Path, err)
	}
	defer os.RemoveAll(fresh)
	if err := writeNote(fresh, now); err != nil {
		return cannotMake(f.Path, err)
	}
	if err := os.Rename(fresh, f.Path); err != nil {
		return cannotMake(f.Path, err)
	}
	return SyncFolder(f.base)
}

// soon is how long git may take to find the first commit when the folder is made.
const soon = time.Second

// firstCommitSoon is firstCommit with a time limit. It returns "" if git takes longer or
// the folder is Hurried: then the commit is noted later.
func (f *Folder) firstCommitSoon(ctx context.Context) string {
	if f.Hurried {
		return ""
	}
	ctx, stop := context.WithTimeout(ctx, soon)
	defer stop()
	commit, err := f.firstCommit(ctx)
	if err != nil {
		return ""
	}
	return commit
}

// setAside renames the folder, if it exists, to a free name.
func (f *Folder) setAside() error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.%d", f.Path, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		err := os.Rename(f.Path, aside)
		if isMissing(err) {
			return nil
		}
		if err == nil {
			f.notice = fmt.Sprintf("the data of another folder that stood at %s before is set aside as %s; `flame where --adopt %[2]s` takes it over", f.Root, aside)
		}
		return err
	}
}

func cannotMake(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("something else is in its place")
	}
	return core.Unavailablef(err, "the data folder %s cannot be made: %v", path, reason(err)).
		WithHint("free some space or allow flame to write there, or name another folder for all data with " + env.Dir)
}
