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
	"flame/local/lock"
)

// A Folder is the folder with a project's data. Its first use checks it, and the first
// write makes it.
type Folder struct {
	Path string // empty if it has no place
	Root string // real path of the project's folder; empty if Path is empty

	// NoGit is for hooks: flame does not run git when it makes the folder.
	// NoteFirstCommit does that later.
	NoGit bool

	base     string // the folder of all projects' data
	checkout string // where git runs
	git      Git
	failed   error // why it has no place

	mu     sync.Mutex
	used   bool   // Ready found it, or made it
	notice string // see Notice
}

// FolderOf returns the data folder of a project. If it has no place, each use returns an
// error that says how to give it one.
func FolderOf(p Place, s Env, git Git) *Folder {
	f := &Folder{checkout: p.Worktree, git: git}
	if f.base, f.failed = s.base(); f.failed != nil {
		return f
	}
	root := p.Dir
	info, err := os.Stat(root)
	if err != nil {
		f.failed = core.NotFoundf("flame cannot open the project's folder %s: %v", p.Dir, reason(err))
		return f
	}
	// A project that is the home folder, or a folder above it, contains the data of all projects.
	if leadsInto(f.base, info) && !within(unlinked(s.Home), root) {
		f.failed = core.Invalidf("the data of %s would be inside it, in %s", root, f.base).
			WithHint("set " + env.Dir + " to a folder outside all projects")
		return f
	}
	f.Root, f.Path = root, filepath.Join(f.base, folderName(root))
	if p.former != "" {
		if path := filepath.Join(f.base, folderName(p.former)); path == Nearest(path) {
			f.Root, f.Path = p.former, path
		}
	}
	return f
}

// leadsInto reports whether path is in the folder root, following links.
func leadsInto(path string, root fs.FileInfo) bool {
	real, err := filepath.EvalSymlinks(Nearest(path))
	if err != nil {
		return false // flame cannot use a folder that it cannot open
	}
	for dir := range upwards(real, "") {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, root) {
			return true
		}
	}
	return false
}

// Nearest returns path if it exists, else the nearest folder above it that does.
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

// Ready reports whether the folder exists and can be used. With write, it makes a missing
// folder. Readers ignore data of another root that was at the same path; a writer sets it
// aside. Ready returns a Problem for a folder that CheckOwned refuses.
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
		return false, core.NotFoundf("the project's folder %s no longer exists: %v", f.Root, reason(err))
	}
	kept, ours, err := f.find(ctx, now)
	switch {
	case err != nil || !ours && !write:
		return false, err
	case !ours:
		err = f.make(ctx, now)
	case write && !kept.sameFolder(now): // a new clone
		now.FirstCommit = kept.FirstCommit
		err = writeNote(f.Path, now)
	}
	f.used = err == nil
	return f.used, err
}

// Notice says what Ready did with the data of another root; empty if there was none, and
// before a call of Ready.
func (f *Folder) Notice() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notice
}

// find reads the folder's note, and reports whether the folder has the data of this root.
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
		err = unusable(err, "%s may be the data of another folder that was at %s; git cannot tell: %v", f.Path, f.Root, err)
	case !ours:
		f.notice = fmt.Sprintf("%s holds the data of another folder that was at %s before, so flame does not use it; "+
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

// note reads the note of the folder, which says whose data it has, if flame trusts the folder.
// The error for a missing folder is fs.ErrNotExist.
func (f *Folder) note() (Root, error) {
	if info, err := os.Stat(f.base); err != nil {
		return Root{}, unlessMissing(err, f.base)
	} else if err := CheckOwned(f.base, info, fs.ModeDir); err != nil {
		return Root{}, err
	}
	return noteOf(f.Path)
}

// make makes the folder, and sets aside another root's folder in its place. Of several
// processes, only one does this.
func (f *Folder) make(ctx context.Context, now Root) error {
	if err := CheckFilesystem(f.base); err != nil {
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

// lockName is the file whose lock a process takes to make, set aside, adopt and delete data
// folders: usually once in a project's life.
const lockName = ".lock"

// lockPatience is how long a process waits for the lock.
const lockPatience = 10 * time.Second

// lock makes the folder of all data if it is missing, and takes the lock in it.
func (f *Folder) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(f.base, 0o700); err != nil {
		return nil, cannotMake(f.Path, err)
	}
	wait, stop := context.WithTimeout(ctx, lockPatience)
	defer stop()
	held, err := lock.Acquire(wait, filepath.Join(f.base, lockName))
	switch {
	case errors.Is(err, lock.ErrBusy):
		return nil, core.Unavailablef(err, "another process is changing the data folders in %s", f.base).WithHint("try again")
	case err != nil:
		return nil, cannotMake(f.Path, err)
	}
	return held.Release, nil
}

// soon is how long git may take to find the first commit when flame makes the folder.
const soon = time.Second

// firstCommitSoon is firstCommit with a time limit. It returns "" if git takes longer or
// the folder has NoGit; flame then notes the commit later.
func (f *Folder) firstCommitSoon(ctx context.Context) string {
	if f.NoGit {
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

// setAside renames an existing folder to a free name.
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
			f.notice = fmt.Sprintf("the data of another folder that was at %s before is set aside as %s; `flame where --adopt %[2]s` takes it over", f.Root, aside)
		}
		return err
	}
}

func cannotMake(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("something else is in its place")
	}
	return core.Unavailablef(err, "flame cannot make the data folder %s: %v", path, reason(err)).
		WithHint("free some space or allow flame to write there, or name another folder for all data with " + env.Dir)
}
