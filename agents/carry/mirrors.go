package carry

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"flame/agents/changes"
	"flame/core"
	"flame/git"
)

// A Result is what an agent changed.
type Result struct {
	Ref, Commit string // empty: nothing
	Changes     []changes.Change
}

// Take makes a worktree of a base at dir, which does not exist, and returns the folder
// in it to work in. A bundle is written by the function given. It is removed as any
// worktree of changes is. A mirror that has no use any more is left to the worktrees
// that it has, and another is made in its place.
func (m Mirrors) Take(ctx context.Context, dir string, b Base, bundle func(io.Writer) error) (workdir string, err error) {
	if err := b.check(); err != nil {
		return "", err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return "", err
	}
	t := taking{Mirrors: m, base: b, remote: remote, bundle: bundle, dir: dir}
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

// byGit reports whether git failed, in time, at what may be the fault of a mirror.
func byGit(ctx context.Context, err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded)
}

// A taking is what makes a worktree of a base.
type taking struct {
	Mirrors
	base   Base
	remote git.Remote
	bundle func(io.Writer) error
	dir    string // of the worktree
}

// from makes the worktree by a mirror that there is.
func (t taking) from(ctx context.Context, mirror string) (workdir string, err error) {
	used(mirror)
	if err := t.fill(ctx, mirror); err != nil {
		return "", err
	}
	return t.worktree(ctx, mirror)
}

// fresh makes a mirror that has the base, to follow on the newest that there was. If another
// process has made one meanwhile, it returns that, which may not have the base.
func (t taking) fresh(ctx context.Context, newest string) (mirror string, others bool, err error) {
	made, err := os.MkdirTemp(t.Dir, newMark+"*")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(made)
	format := "sha1"
	if len(t.base.Commit) == 64 {
		format = "sha256"
	}
	if err := git.Skeleton(made, format, false); err != nil {
		return "", false, err
	}
	if err := t.fill(ctx, made); err != nil {
		return "", false, err
	}
	return t.place(made, t.base, newest)
}

// fill brings the base into a mirror, at its ref.
func (t taking) fill(ctx context.Context, mirror string) (err error) {
	b := t.base
	var got string
	if b.Bundle {
		got, err = t.unpack(ctx, mirror, b, t.bundle)
	} else {
		got, err = git.Fetch(ctx, mirror, t.remote, b.Ref)
	}
	if err != nil {
		return core.Unavailablef(err, "the base could not be fetched: %v", err).
			WithHint("see that it was pushed, and that git fetch works on this machine without being asked for a password")
	}
	if got != b.Commit {
		return core.Invalidf("%s is %s, not the commit %s that was asked for", b.Ref, core.OneLine(got, 64), b.Commit).
			WithHint("ask again: the base was replaced")
	}
	_, err = git.Run(ctx, mirror, "update-ref", b.Ref, b.Commit)
	return err
}

// worktree makes the worktree by a mirror that has the base.
func (t taking) worktree(ctx context.Context, mirror string) (workdir string, err error) {
	if _, err := git.Run(ctx, mirror, "worktree", "prune"); err != nil {
		return "", err
	}
	if err := t.fits(ctx, mirror, t.base); err != nil {
		return "", err
	}
	if err := git.AddWorktree(ctx, mirror, t.dir, t.base.Commit); err != nil {
		return "", err
	}
	workdir, err = folderIn(t.dir, t.base)
	if err != nil {
		err = errors.Join(err, changes.Worktree{Dir: t.dir}.Remove(context.WithoutCancel(ctx), mirror))
	}
	return workdir, err
}

// folderIn returns the folder of a worktree that a base names, to which no link leads.
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

// Return notes what the worktree at dir holds that its base does not: as a patch in a
// file, and as a commit at a hidden ref, in the mirror and at the remote. If only the
// push fails, or ctx ends, the result is there beside the error: the patch is written in
// any case. A worktree that is as it was is removed.
func (m Mirrors) Return(ctx context.Context, dir string, b Base, id string, attempt int, patch string) (Result, error) {
	if err := errors.Join(b.check(), checkID(id)); err != nil {
		return Result{}, err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return Result{}, err
	}
	mirror, err := m.mirrorOf(ctx, dir, b)
	if err != nil {
		return Result{}, err
	}
	all, err := changes.Worktree{Dir: dir, Base: b.Commit}.Keep(context.WithoutCancel(ctx), patch)
	if err != nil {
		return Result{}, err
	}
	if _, gone := os.Lstat(dir); gone != nil {
		return Result{}, nil
	}
	commit, err := snapshot(ctx, dir, b.Commit, runRef(id, attempt))
	if err != nil {
		return Result{Changes: all}, err
	}
	if commit == b.Commit {
		return Result{}, nil
	}
	result := Result{Ref: runRef(id, attempt), Commit: commit, Changes: all}
	if _, err := git.Run(ctx, mirror, "update-ref", result.Ref, commit); err != nil || b.Bundle {
		return result, err
	}
	if err := git.Push(ctx, mirror, remote, git.Update{Ref: result.Ref, Commit: commit}); err != nil {
		return result, core.Unavailablef(err, "the changes could not be pushed to %s: %v", remote.Name(), err).
			WithHint("the patch has them; see that git push works on the worker's machine")
	}
	return result, nil
}

// snapshot commits what a worktree holds on top of what was committed in it. A history
// that does not come from the base is left out, as it could be that of anything here.
func snapshot(ctx context.Context, dir, base, ref string) (string, error) {
	parent, err := headOf(ctx, dir)
	if err != nil {
		parent = base
	} else if more, err := git.Run(ctx, dir, "rev-list", "--max-count=1", base, "--not", parent, "--"); err != nil || more != "" {
		parent = base
	}
	return git.Snapshot(ctx, dir, parent, "flame: "+strings.TrimPrefix(ref, "refs/flame/"))
}

// unpack takes a bundle into a mirror, and returns the commit that it has.
func (m Mirrors) unpack(ctx context.Context, mirror string, b Base, bundle func(io.Writer) error) (string, error) {
	file, err := os.CreateTemp(m.Dir, ".bundle-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(bundle(&limited{file, MaxBundle}), file.Close()); err != nil {
		return "", err
	}
	return git.Unbundle(ctx, mirror, file.Name(), b.Ref)
}

// A limited takes so many bytes, and no more.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, core.Invalidf("the bundle is larger than %d MB", MaxBundle>>20).WithHint("give the repository a remote")
	}
	return l.to.Write(p)
}
