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

// PatchFile, in an agent's folder, is what it changed in a worktree of its own.
const PatchFile = "changes.patch"

// A Worktree is one of git, that an agent has for itself.
type Worktree struct {
	Dir  string // empty: there is none
	Base string // commit that it began from
}

// Add makes the worktree for work in a folder, and returns the same folder in it. What
// is not committed is not in it.
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

// Restore makes the worktree once more, where it was removed: because nothing had been
// changed in it, or for room, which leaves the patch.
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

// Keep writes the worktree's changes to a patch, and returns them; nil where it is gone.
// A worktree that is as it was is removed.
func (w Worktree) Keep(ctx context.Context, patch string) ([]Change, error) {
	if !w.exists() {
		return nil, nil
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

// Remove removes the worktree with all that is in it.
func (w Worktree) Remove(ctx context.Context, repository string) error {
	_, err := git.Run(ctx, repository, "worktree", "remove", "--force", "--", w.Dir)
	return err
}

// IsKept reports whether a patch has all that the worktree holds now: another agent may
// have gone on there, or a person.
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

// plainDiff is git's diff whatever the user's settings are.
var plainDiff = []string{"diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"}

// diff returns what a worktree holds that its base does not, as git tells it with an
// option.
func (w Worktree) diff(ctx context.Context, option ...string) (string, error) {
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

// isUntouched reports whether a worktree that differs from its base by patch holds
// just what it did at first, ignored files and submodules included.
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

// inSubmodules reports whether a worktree holds anything in the folders of submodules.
// They are empty at first, and git is not asked what is in them.
func (w Worktree) inSubmodules(ctx context.Context) (bool, error) {
	all, err := git.Submodules(ctx, w.Dir)
	return slices.ContainsFunc(all, func(path string) bool {
		entries, err := os.ReadDir(filepath.Join(w.Dir, path))
		return len(entries) > 0 || err != nil && !os.IsNotExist(err)
	}), err
}

// patch returns what a worktree holds that its base does not.
func (w Worktree) patch(ctx context.Context) (string, error) {
	// Files that git does not know yet are part of a patch only once it is told.
	if err := git.AddIntent(ctx, w.Dir); err != nil {
		return "", err
	}
	return w.diff(ctx, "--binary")
}

// changes returns the changes to files by what they hold now. told is how git lists
// them, by status and name, and patch what it says of each, in the same order.
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
