package changes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/git"
)

// A Worktree is one of git, that an agent has for itself.
type Worktree struct {
	Dir  string
	Base string // commit that it began from
}

// plainDiff is git's diff whatever the user's settings are.
var plainDiff = []string{"diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"}

// Diff returns what a worktree holds that its base does not, as git tells it with an
// option.
func (w Worktree) Diff(ctx context.Context, option ...string) (string, error) {
	return git.Run(ctx, w.Dir, slices.Concat(plainDiff, option, []string{"--end-of-options", w.Base, "--"})...)
}

// Commit returns the commit that a folder is at; empty outside of git.
func Commit(ctx context.Context, dir string) string {
	base, err := git.Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(base)
}

// IsUntouched reports whether a worktree that differs from its base by patch holds
// just what it did at first, ignored files and submodules included.
func (w Worktree) IsUntouched(ctx context.Context, patch string) (bool, error) {
	if patch != "" || Commit(ctx, w.Dir) != w.Base {
		return false, nil
	}
	left, err := git.Run(ctx, w.Dir, "status", "--porcelain", "--ignored", "--untracked-files=normal")
	if err != nil || left != "" {
		return false, err
	}
	more, err := w.InSubmodules(ctx)
	return !more, err
}

// InSubmodules reports whether a worktree holds anything in the folders of submodules.
// They are empty at first, and git is not asked what is in them.
func (w Worktree) InSubmodules(ctx context.Context) (bool, error) {
	all, err := git.Submodules(ctx, w.Dir)
	return slices.ContainsFunc(all, func(path string) bool {
		entries, err := os.ReadDir(filepath.Join(w.Dir, path))
		return len(entries) > 0 || err != nil && !os.IsNotExist(err)
	}), err
}

// Patch returns what a worktree holds that its base does not.
func (w Worktree) Patch(ctx context.Context) (string, error) {
	// Files that git does not know yet are part of a patch only once it is told.
	if err := git.AddIntent(ctx, w.Dir); err != nil {
		return "", err
	}
	return w.Diff(ctx, "--binary")
}

// Changes returns the changes to files by what they hold now. told is how git lists
// them, by status and name, and patch what it says of each, in the same order.
func (w Worktree) Changes(told, patch string) []Change {
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
