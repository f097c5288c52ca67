package carry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"flame/agents/changes"
	"flame/core"
	"flame/git"
)

// Mirrors are the repositories that a worker keeps, so that a base brings only what is
// new. Each remote has its own: who knows the id of a commit gets nothing of another's.
type Mirrors struct {
	Dir     string   // absolute
	Allowed []string // patterns of the remotes that it takes; see Matches
}

// A Result is what an agent changed.
type Result struct {
	Ref, Commit string // empty: nothing
	Changes     []changes.Change
}

// Take makes a worktree of a base at dir, which does not exist, and returns the folder
// in it to work in. A bundle is written by the function given. It is removed as any
// worktree of changes is.
func (m Mirrors) Take(ctx context.Context, dir string, b Base, bundle func(io.Writer) error) (workdir string, err error) {
	if err := b.check(); err != nil {
		return "", err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return "", err
	}
	mirror, err := m.ready(b)
	if err != nil {
		return "", err
	}
	var got string
	if b.Bundle {
		got, err = m.unpack(ctx, mirror, b, bundle)
	} else {
		got, err = git.Fetch(ctx, mirror, remote, b.Ref)
	}
	if err != nil {
		return "", core.Unavailablef(err, "the base could not be fetched: %v", err).
			WithHint("see that it was pushed, and that git fetch works on this machine without being asked for a password")
	}
	if got != b.Commit {
		return "", core.Invalidf("%s is %s, not the commit %s that was asked for", b.Ref, core.OneLine(got, 64), b.Commit).
			WithHint("ask again: the base was replaced")
	}
	if _, err := git.Run(ctx, mirror, "update-ref", b.Ref, b.Commit); err != nil {
		return "", err
	}
	if _, err := git.Run(ctx, mirror, "worktree", "prune"); err != nil {
		return "", err
	}
	if err := git.AddWorktree(ctx, mirror, dir, b.Commit); err != nil {
		return "", err
	}
	workdir, err = folderIn(dir, b)
	if err != nil {
		err = errors.Join(err, changes.Worktree{Dir: dir}.Remove(context.WithoutCancel(ctx), mirror))
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
// push fails, the result is there beside the error. A worktree that is as it was is
// removed.
func (m Mirrors) Return(ctx context.Context, dir string, b Base, id string, attempt int, patch string) (Result, error) {
	if err := errors.Join(b.check(), checkID(id)); err != nil {
		return Result{}, err
	}
	remote, err := b.remote(m.Allowed)
	if err != nil {
		return Result{}, err
	}
	mirror, err := m.ready(b)
	if err != nil {
		return Result{}, err
	}
	if err := isOf(ctx, dir, mirror); err != nil {
		return Result{}, err
	}
	all, err := changes.Worktree{Dir: dir, Base: b.Commit}.Keep(ctx, patch)
	if err != nil {
		return Result{}, err
	}
	if _, gone := os.Lstat(dir); gone != nil {
		return Result{}, nil
	}
	commit, err := snapshot(ctx, dir, b.Commit, runRef(id, attempt))
	if err != nil || commit == b.Commit {
		return Result{}, err
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

// isOf returns an error for a worktree that is not one of a mirror's: an agent can write
// what git takes for the way to the repository.
func isOf(ctx context.Context, dir, mirror string) error {
	told, err := git.Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return err
	}
	common, top, _ := strings.Cut(strings.TrimSuffix(told, "\n"), "\n")
	for want, got := range map[string]string{filepath.Join(mirror, ".git"): common, dir: top} {
		real, err := filepath.EvalSymlinks(want)
		if err != nil || real != got {
			return core.Invalidf("the worktree %s does not belong to its repository any more", dir).WithHint("look at what the agent did to its .git")
		}
	}
	return nil
}

// ready returns the mirror for a base, and makes it if need be.
func (m Mirrors) ready(b Base) (string, error) {
	from := Bundles
	if r, err := git.ParseRemote(b.Remote); err == nil {
		from = r.Name()
	}
	sum := sha256.Sum256([]byte(b.Repository + " " + from))
	mirror := filepath.Join(m.Dir, hex.EncodeToString(sum[:10]))
	err := os.MkdirAll(m.Dir, 0o700)
	if err == nil {
		err = os.Chmod(m.Dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(mirror); err == nil {
		// Objects of other repositories are none of this one's.
		_ = os.Remove(filepath.Join(mirror, ".git", "objects", "info", "alternates")) // mostly there is none
		return mirror, nil
	}
	made, err := os.MkdirTemp(m.Dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	format := "sha1"
	if len(b.Commit) == 64 {
		format = "sha256"
	}
	if err := git.Skeleton(made, format, false); err != nil {
		return "", err
	}
	if err := os.Rename(made, mirror); err != nil {
		if _, other := os.Lstat(mirror); other != nil {
			return "", err
		} // another process was first
	}
	return mirror, nil
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
