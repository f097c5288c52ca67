package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/local/git"
)

// PatchFile is the file in an agent's folder with its changes in its own worktree.
const PatchFile = "changes.patch"

// A Worktree is the own git worktree of an agent.
type Worktree struct {
	Dir  string // empty: there is none
	Base string // the commit that it started from
}

// Add makes the worktree for work in a folder, and returns the same folder in the worktree.
// The worktree lacks uncommitted changes.
func (w Worktree) Add(ctx context.Context, dir string) (string, error) {
	prefix, err := git.Run(ctx, dir, "rev-parse", "--show-prefix")
	if err == nil {
		err = git.AddWorktree(ctx, dir, w.Dir, "HEAD")
	}
	if err != nil {
		return "", core.Invalidf("the agent cannot have a worktree of its own: %v", err).
			WithHint("commit something first, or leave isolation out")
	}
	return filepath.Join(w.Dir, strings.TrimSuffix(prefix, "\n")), nil
}

// Restore makes the worktree again if flame removed it, because it had no changes or to free
// disk space. In the latter case the patch is still there.
func (w Worktree) Restore(ctx context.Context, repository, patch string) error {
	if w.exists() || w.Dir == "" {
		return nil
	}
	if err := git.AddWorktree(ctx, repository, w.Dir, w.Base); err != nil {
		return err
	}
	if info, err := os.Stat(patch); err != nil || info.Size() == 0 {
		return nil
	}
	_, err := git.Run(ctx, w.Dir, "apply", "--whitespace=nowarn", "--", patch)
	return err
}

// WritePatch writes the worktree's changes to a patch and returns them. It removes a worktree without
// changes. A worktree that is gone is an error: what was there is lost.
func (w Worktree) WritePatch(ctx context.Context, patch string) ([]Change, error) {
	if !w.exists() {
		return nil, errors.New("the agent, or something else, has deleted its worktree")
	}
	if _, err := os.Lstat(filepath.Join(w.Dir, ".git")); err != nil { // git would take the repository around it
		return nil, errors.New("it is no git worktree any more: its .git is gone")
	}
	content, err := w.patch(ctx)
	if err != nil {
		return nil, err
	}
	names, err := w.diff(ctx, "--name-status", "-z")
	if err != nil {
		return nil, err
	}
	if same, err := w.isUntouched(ctx, content); err != nil {
		return nil, err
	} else if same {
		return []Change{}, w.Remove(ctx, w.Dir)
	}
	if err := os.WriteFile(patch, []byte(content), 0o600); err != nil {
		return nil, err
	}
	return w.changes(names, content), nil
}

// Remove removes the worktree with all its files.
func (w Worktree) Remove(ctx context.Context, repository string) error {
	_, err := git.Run(ctx, repository, "worktree", "remove", "--force", "--", w.Dir)
	return err
}

// IsKept reports whether a patch has all current changes of the worktree: another agent or a
// person may have continued there.
func (w Worktree) IsKept(ctx context.Context, patch string) bool {
	kept, err := os.ReadFile(patch)
	if err != nil {
		return false
	}
	now, err := w.patch(ctx)
	if err != nil || now != string(kept) {
		return false
	}
	more, err := w.inSubmodules(ctx)
	return err == nil && !more
}

func (w Worktree) exists() bool {
	_, err := os.Stat(w.Dir)
	return err == nil
}

// plainDiff is a git diff that ignores the user's settings.
var plainDiff = []string{"diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"}

// diff returns the difference between a worktree and its base, as git prints it with an
// option.
func (w Worktree) diff(ctx context.Context, option ...string) (string, error) {
	return git.Run(ctx, w.Dir, slices.Concat(plainDiff, option, []string{"--end-of-options", w.Base, "--"})...)
}

// Commit returns the current commit of a folder; empty outside of git.
func Commit(ctx context.Context, dir string) string {
	base, err := git.Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(base)
}

// isUntouched reports whether a worktree that differs from its base by patch still has its
// first content, including ignored files and submodules.
func (w Worktree) isUntouched(ctx context.Context, patch string) (bool, error) {
	if patch != "" || Commit(ctx, w.Dir) != w.Base {
		return false, nil
	}
	left, err := git.Run(ctx, w.Dir, "status", "--porcelain", "--ignored", "--untracked-files=normal")
	if err != nil || left != "" {
		return false, err
	}
	more, err := w.inSubmodules(ctx)
	return !more, err
}

// inSubmodules reports whether the folders of submodules in a worktree have any content. They
// are empty at first, and git does not list their content.
func (w Worktree) inSubmodules(ctx context.Context) (bool, error) {
	all, err := git.Submodules(ctx, w.Dir)
	return slices.ContainsFunc(all, func(path string) bool {
		entries, err := os.ReadDir(filepath.Join(w.Dir, path))
		return len(entries) > 0 || err != nil && !os.IsNotExist(err)
	}), err
}

// patch returns the difference between a worktree and its base.
func (w Worktree) patch(ctx context.Context) (string, error) {
	// Git includes new files in a patch only after add --intent-to-add.
	if err := git.AddIntent(ctx, w.Dir); err != nil {
		return "", err
	}
	return w.diff(ctx, "--binary")
}

// changes returns the changes with the hashes of the files' current content. told is git's
// list of status and name, and patch its diff of each file, in the same order.
func (w Worktree) changes(told, patch string) []Change {
	changes := []Change{}
	parts := strings.Split("\n"+patch, "\ndiff --git ")[1:]
	for i, entry := range slices.Collect(slices.Chunk(strings.FieldsFunc(told, func(r rune) bool { return r == 0 }), 2)) {
		status, name := entry[0], entry[len(entry)-1]
		change := Change{Path: name, Existed: status != "A", Deleted: status == "D", Hash: HashOf(w.Dir, name)}
		if i < len(parts) {
			change.Excerpt = core.Cut(parts[i], MaxExcerpt)
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return changes
}

// Uncommitted returns the number of uncommitted files in the checkout of dir, except ignored
// ones.
func Uncommitted(ctx context.Context, dir string) (files int, err error) {
	top, _, err := topOf(ctx, dir)
	if err != nil {
		return 0, err
	}
	list, err := git.Run(ctx, top, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
	return strings.Count(list, "\x00"), err
}
