package changes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"flame/core"
	"flame/local/git"
)

// CollectedChanges are the changes of an agent.
type CollectedChanges struct {
	Ref, Commit string // empty: nothing changed
	Changes     []Change
}

// Checkout makes a worktree of a base at dir, which must not exist, and returns the working folder
// in it. Worktree.Remove removes the worktree. Take leaves a damaged mirror to the worktrees
// that it has, and makes another one.
func (m Mirrors) Checkout(ctx context.Context, dir string, b Base) (workdir string, err error) {
	if err := b.check(); err != nil {
		return "", err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return "", err
	}
	t := checkout{Mirrors: m, base: b, remote: remote, dir: dir}
	kept, err := m.of(b)
	if err != nil {
		return "", err
	}
	newest := ""
	if len(kept) > 0 {
		newest = kept[0]
		if workdir, err = t.from(ctx, newest); !byGit(ctx, err) {
			return workdir, err
		}
	}
	mirror, others, err := t.fresh(ctx, newest)
	if err != nil {
		return "", err
	}
	if others {
		return t.from(ctx, mirror)
	}
	if workdir, err = t.worktree(ctx, mirror); err != nil && !inUse(mirror) {
		err = errors.Join(err, os.RemoveAll(mirror))
	}
	return workdir, err
}

// byGit reports whether git failed before the deadline in a way that a damaged mirror may
// cause.
func byGit(ctx context.Context, err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded)
}

type checkout struct {
	Mirrors
	base   Base
	remote git.Remote
	dir    string // of the worktree
}

func (t checkout) from(ctx context.Context, mirror string) (workdir string, err error) {
	now := time.Now()
	_ = os.Chtimes(mirror, now, now) // marks the mirror as used; if that fails, flame only makes it again some day
	if err := t.fill(ctx, mirror); err != nil {
		return "", err
	}
	return t.worktree(ctx, mirror)
}

// fresh makes a mirror with the base, whose name follows the newest mirror. If another process
// has made one meanwhile, fresh returns that mirror, which may lack the base.
func (t checkout) fresh(ctx context.Context, newest string) (mirror string, others bool, err error) {
	made, err := os.MkdirTemp(t.Dir, newMark+"*")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(made)
	format := "sha1"
	if len(t.base.Commit) == 64 {
		format = "sha256"
	}
	if err := git.InitEmpty(made, format, false); err != nil {
		return "", false, err
	}
	if err := t.fill(ctx, made); err != nil {
		return "", false, err
	}
	_, number := keyOf(newest)
	mirror = filepath.Join(t.Dir, t.base.key()+"-"+strconv.Itoa(number+1))
	if err = os.Rename(made, mirror); errors.Is(err, fs.ErrExist) {
		return mirror, true, nil
	}
	return mirror, false, err
}

func (t checkout) fill(ctx context.Context, mirror string) error {
	b := t.base
	got, err := git.Fetch(ctx, mirror, t.remote, b.Ref)
	if err != nil {
		return core.Unavailablef(err, "the base could not be fetched: %v", err).
			WithHint("see that it was pushed, and that git fetch works on this machine without being asked for a password")
	}
	if got != b.Commit {
		return core.Invalidf("%s is %s, not the requested commit %s", b.Ref, core.OneLine(got, 64), b.Commit).
			WithHint("ask again: the base was replaced")
	}
	_, err = git.Run(ctx, mirror, "update-ref", b.Ref, b.Commit)
	return err
}

// worktree makes the worktree from a mirror that has the base.
func (t checkout) worktree(ctx context.Context, mirror string) (workdir string, err error) {
	if err := t.fits(ctx, mirror, t.base); err != nil {
		return "", err
	}
	if err := git.AddWorktree(ctx, mirror, t.dir, t.base.Commit); err != nil {
		return "", err
	}
	workdir, err = folderIn(t.dir, t.base)
	if err != nil {
		err = errors.Join(err, Worktree{Dir: t.dir}.Remove(context.WithoutCancel(ctx), mirror))
	}
	return workdir, err
}

// folderIn returns the folder of a worktree that a base names. Its path contains no link.
func folderIn(dir string, b Base) (string, error) {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	want := filepath.Join(top, filepath.FromSlash(b.Prefix))
	info, err := os.Stat(want)
	if real, _ := filepath.EvalSymlinks(want); err != nil || !info.IsDir() || real != want {
		return "", core.Invalidf("the base has no folder %s", core.OneLine(b.Prefix, 200)).WithHint("commit something in it first")
	}
	return filepath.Join(dir, filepath.FromSlash(b.Prefix)), nil
}

// Collect stores the changes of the worktree at dir against its base: as a patch in a file, and
// as a commit at a hidden ref, in the mirror and at the remote. It always writes the patch: if
// only the push fails, or ctx ends, it returns the result with the error. It removes a
// worktree without changes.
func (m Mirrors) Collect(ctx context.Context, dir string, b Base, id string, attempt int, patch string) (CollectedChanges, error) {
	if err := errors.Join(b.check(), checkID(id)); err != nil {
		return CollectedChanges{}, err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return CollectedChanges{}, err
	}
	mirror, err := m.mirrorOf(ctx, dir, b)
	if err != nil {
		return CollectedChanges{}, err
	}
	all, err := Worktree{Dir: dir, Base: b.Commit}.WritePatch(context.WithoutCancel(ctx), patch)
	if err != nil {
		return CollectedChanges{}, err
	}
	if _, gone := os.Lstat(dir); gone != nil {
		return CollectedChanges{}, nil
	}
	commit, err := snapshot(ctx, dir, b.Commit, runRef(id, attempt))
	if err != nil {
		return CollectedChanges{Changes: all}, err
	}
	if commit == b.Commit {
		return CollectedChanges{}, nil
	}
	result := CollectedChanges{Ref: runRef(id, attempt), Commit: commit, Changes: all}
	if _, err := git.Run(ctx, mirror, "update-ref", result.Ref, commit); err != nil {
		return result, err
	}
	if err := git.Push(ctx, mirror, remote, git.Update{Ref: result.Ref, Commit: commit}); err != nil {
		return result, core.Unavailablef(err, "the changes could not be pushed to %s: %v", remote.Name(), err).
			WithHint("the patch has them; see that git push works on the worker's machine")
	}
	return result, nil
}

// snapshot commits the content of a worktree on top of its last commit. It leaves out a
// history that does not descend from the base, since that could be the history of any
// repository here.
func snapshot(ctx context.Context, dir, base, ref string) (string, error) {
	parent := Commit(ctx, dir)
	if parent == "" {
		parent = base
	} else if more, err := git.Run(ctx, dir, "rev-list", "--max-count=1", base, "--not", parent, "--"); err != nil || more != "" {
		parent = base
	}
	return git.Snapshot(ctx, dir, parent, "flame: "+strings.TrimPrefix(ref, "refs/flame/"))
}

const newMark = ".new-"

// RemoveIdle removes unfinished mirrors, and mirrors without worktrees that were not used
// since a time. If a worker needs such a mirror at that moment, it makes another one.
func (m Mirrors) RemoveIdle(ctx context.Context, since time.Time) (removed int, err error) {
	entries, err := os.ReadDir(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, entry := range entries {
		_, number := keyOf(entry.Name())
		half := strings.HasPrefix(entry.Name(), newMark)
		info, wrong := entry.Info()
		if number == 0 && !half || wrong != nil || !info.IsDir() || !info.ModTime().Before(since) {
			continue
		}
		mirror := filepath.Join(m.Dir, entry.Name())
		if !half {
			_, _ = git.Run(ctx, mirror, "worktree", "prune") // of deleted folders; a damaged mirror is useless anyway
		}
		if inUse(mirror) {
			continue
		}
		gone := mirror
		if !half { // a mirror is complete until it is removed
			gone = filepath.Join(m.Dir, newMark+entry.Name())
			wrong = os.Rename(mirror, gone)
		}
		if wrong == nil {
			wrong = os.RemoveAll(gone)
		}
		if err = errors.Join(err, wrong); wrong == nil {
			removed++
		}
	}
	return removed, err
}
