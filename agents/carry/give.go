package carry

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/git"
)

// MaxBundle bounds a bundle, in bytes, unless the options say otherwise.
const MaxBundle = 50 << 20

// Options say what Give takes along.
type Options struct {
	Uncommitted bool      // what is not committed yet, but for ignored files
	Bundle      io.Writer // where a bundle goes if there is no remote, useless after an error; nil: none is wanted
	MaxBundle   int64     // 0: the constant
	Folders     []string  // patterns of remotes that are folders, file:/path/*, which are else not used
}

// Give takes the state of a checkout to where another machine can have it, under an id,
// and returns it with how many changed files stay behind because they are not committed.
// Of a shallow clone nothing is given, as its history has no beginning, and of a partial
// one what is there: files of git-lfs and other filters go as they are committed, or, of
// those that were changed, as they are now.
func Give(ctx context.Context, checkout, id string, o Options) (b Base, left int, err error) {
	if err := checkID(id); err != nil {
		return Base{}, 0, err
	}
	top, prefix, err := topOf(ctx, checkout)
	if err != nil {
		return Base{}, 0, err
	}
	b = Base{Ref: baseRefs + id, Prefix: prefix}
	if b.Commit, err = headOf(ctx, top); err != nil {
		return Base{}, 0, err
	}
	if b.Repository, err = git.FirstCommit(ctx, top); err != nil {
		return Base{}, 0, err
	}
	if b.Repository == "" {
		return Base{}, 0, core.Invalidf("a shallow clone cannot go to another machine").WithHint("run git fetch --unshallow first")
	}
	if o.Uncommitted {
		var p Pending
		if p, err = PendingOf(ctx, top); err == nil {
			err = p.Check()
		}
		if err != nil {
			return Base{}, 0, err
		}
		b.Commit, err = git.Snapshot(ctx, top, b.Commit, "flame: base "+id)
	} else {
		var p Pending
		p, err = PendingOf(ctx, top)
		left = p.Files
	}
	if err != nil {
		return Base{}, 0, err
	}
	return b, left, b.send(ctx, top, o)
}

// send pushes the base to the checkout's remote, and notes that; or writes the bundle.
func (b *Base) send(ctx context.Context, top string, o Options) error {
	fetch, push, err := remotesOf(ctx, top, o.Folders)
	switch {
	case err != nil:
		return err
	case fetch != git.Remote{}:
		if err := git.Push(ctx, top, push, git.Update{Ref: b.Ref, Commit: b.Commit}); err != nil {
			return core.Unavailablef(err, "the base could not be pushed to %s: %v", push.URL(), err).
				WithHint("other machines get it from there: see that git push works without being asked for a password")
		}
		b.Remote = fetch.URL()
		return nil
	case o.Bundle == nil:
		return core.Invalidf("the repository has no remote by https or ssh").
			WithHint("add one that both machines reach: git remote add origin URL")
	}
	b.Bundle = true
	limit := cmp.Or(o.MaxBundle, MaxBundle)
	err = git.Bundle(ctx, top, b.Commit, b.Ref, o.Bundle, limit)
	if errors.Is(err, git.ErrTooMuch) {
		return core.Invalidf("the repository has no remote, and its history is larger than %d bytes", limit).
			WithHint("add a remote that both machines reach: git remote add origin URL")
	}
	return err
}

// remotesOf returns where a checkout fetches from and pushes to; nothing if other
// machines cannot use that.
func remotesOf(ctx context.Context, dir string, folders []string) (fetch, push git.Remote, err error) {
	rawFetch, rawPush, err := git.Remotes(ctx, dir)
	if err != nil {
		return fetch, push, err
	}
	from, err := git.ParseRemote(rawFetch)
	to, otherErr := git.ParseRemote(rawPush)
	for _, r := range []git.Remote{from, to} {
		if err != nil || otherErr != nil || r.IsFolder() && !covered(r, folders) {
			return fetch, push, nil
		}
	}
	return from, to, nil
}

// topOf returns the top of a checkout, and where in it a folder is.
func topOf(ctx context.Context, dir string) (top, prefix string, err error) {
	told, err := git.Run(ctx, dir, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return "", "", core.Invalidf("%v", err).WithHint("only work in a git repository goes to another machine")
	}
	top, prefix, _ = strings.Cut(strings.TrimSuffix(told, "\n"), "\n")
	// The configuration could name any folder as the one with the files, such as HOME.
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	for err == nil && real != top {
		if _, none := os.Lstat(filepath.Join(real, ".git")); none == nil || filepath.Dir(real) == real {
			return "", "", core.Invalidf("the files of the repository at %s are elsewhere, in %s", real, top).WithHint("unset core.worktree")
		}
		real = filepath.Dir(real)
	}
	if _, none := os.Lstat(filepath.Join(top, ".git")); err == nil && none != nil {
		err = core.Invalidf("%s has no repository of its own", top)
	}
	return top, strings.TrimSuffix(prefix, "/"), err
}

func headOf(ctx context.Context, dir string) (string, error) {
	head, err := git.Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", core.Invalidf("the repository has no commit yet").WithHint("commit something first")
	}
	return strings.TrimSpace(head), nil
}
