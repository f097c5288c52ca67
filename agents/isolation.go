package agents

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/git"
	"flame/project"
)

// PatchFile, in an agent's folder, is what it changed in a worktree of its own.
const PatchFile = "changes.patch"

// plainDiff is git's diff whatever the user's settings are.
var plainDiff = []string{"diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"}

// diff returns what a worktree holds that its base does not, as git tells it with an
// option.
func diff(ctx context.Context, run Run, option ...string) (string, error) {
	return git.Run(ctx, run.Worktree, slices.Concat(plainDiff, option, []string{"--end-of-options", run.Base, "--"})...)
}

// baseOf returns the commit that a folder is at; empty outside of git.
func baseOf(ctx context.Context, dir string) string {
	base, err := git.Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(base)
}

// isolate makes the worktree that an agent is to have, if any, and has it work
// there.
func (a *Agents) isolate(ctx context.Context, run Run) (Run, error) {
	if run.Worktree == "" {
		return run, nil
	}
	if err := os.MkdirAll(a.Folder(run.ID), 0o700); err != nil {
		return run, core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	inside, err := addWorktree(ctx, run.Cwd, run.Worktree)
	if err != nil {
		return run, err
	}
	return a.change(ctx, run.ID, func(_ project.Tx, kept *Run) error {
		kept.Cwd = inside
		return nil
	})
}

// addWorktree makes a worktree for an agent that is to work in dir, and returns the
// same folder in it. What is not committed is not in it.
func addWorktree(ctx context.Context, dir, worktree string) (string, error) {
	prefix, err := git.Run(ctx, dir, "rev-parse", "--show-prefix")
	if err == nil {
		err = git.AddWorktree(ctx, dir, worktree, "HEAD")
	}
	if err != nil {
		return "", core.Invalidf("the agent cannot have a worktree of its own: %v", err).
			WithHint("commit something first, or leave isolation out")
	}
	return filepath.Join(worktree, strings.TrimSuffix(prefix, "\n")), nil
}

// restoreWorktree makes the worktree of an agent that goes on once more, where that
// was removed: because nothing had been changed in it, or by Prune, which leaves the
// patch of the agent that worked in it last.
func (a *Agents) restoreWorktree(ctx context.Context, run Run, last string) error {
	if run.Worktree == "" {
		return nil
	}
	if _, err := os.Stat(run.Worktree); err == nil {
		return nil
	}
	if err := git.AddWorktree(ctx, a.Dir, run.Worktree, run.Base); err != nil {
		return err
	}
	patch := filepath.Join(a.Folder(last), PatchFile)
	if info, err := os.Stat(patch); err != nil || info.Size() == 0 {
		return nil
	}
	_, err := git.Run(ctx, run.Worktree, "apply", "--whitespace=nowarn", "--", patch)
	return err
}

// keepWorktree keeps what an agent changed in a worktree of its own as a patch
// beside it, and adds that to what its tools told. A worktree that is as it was is
// removed.
func (a *Agents) keepWorktree(ctx context.Context, run Run, told []Change) []Change {
	if _, err := os.Stat(run.Worktree); err != nil {
		return told
	}
	patch, err := patchOf(ctx, run)
	names, same := "", false
	if err == nil {
		names, err = diff(ctx, run, "--name-status", "-z")
	}
	if err == nil {
		same, err = isUntouched(ctx, run, patch)
	}
	if err == nil && same {
		_, err = git.Run(ctx, run.Worktree, "worktree", "remove", "--force", "--", run.Worktree)
		told = []Change{}
	} else if err == nil {
		if err = os.WriteFile(filepath.Join(a.Folder(run.ID), PatchFile), []byte(patch), 0o600); err == nil {
			told = inWorktree(run, names, patch)
		}
	}
	if err != nil {
		a.Project.Log.Warn("an agent's worktree stays as it is", "agent", run.ID, "error", err)
	}
	return told
}

// isUntouched reports whether a worktree that differs from its base by patch holds
// just what it did at first, ignored files and submodules included.
func isUntouched(ctx context.Context, run Run, patch string) (bool, error) {
	if patch != "" || baseOf(ctx, run.Worktree) != run.Base {
		return false, nil
	}
	left, err := git.Run(ctx, run.Worktree, "status", "--porcelain", "--ignored", "--untracked-files=normal")
	if err != nil || left != "" {
		return false, err
	}
	more, err := inSubmodules(ctx, run)
	return !more, err
}

// inSubmodules reports whether a worktree holds anything in the folders of submodules.
// They are empty at first, and git is not asked what is in them.
func inSubmodules(ctx context.Context, run Run) (bool, error) {
	all, err := git.Submodules(ctx, run.Worktree)
	return slices.ContainsFunc(all, func(path string) bool {
		entries, err := os.ReadDir(filepath.Join(run.Worktree, path))
		return len(entries) > 0 || err != nil && !os.IsNotExist(err)
	}), err
}

// patchOf returns what a worktree holds that its base does not.
func patchOf(ctx context.Context, run Run) (string, error) {
	// Files that git does not know yet are part of a patch only once it is told.
	if err := git.AddIntent(ctx, run.Worktree); err != nil {
		return "", err
	}
	return diff(ctx, run, "--binary")
}

// isKept reports whether an agent's patch has all that its worktree holds now: another
// may have gone on there, or a person.
func (a *Agents) isKept(ctx context.Context, run Run) bool {
	kept, err := os.ReadFile(filepath.Join(a.Folder(run.ID), PatchFile))
	if err != nil {
		return false
	}
	now, err := patchOf(ctx, run)
	if err != nil || now != string(kept) {
		return false
	}
	more, err := inSubmodules(ctx, run)
	return err == nil && !more
}

// inWorktree returns the changes to files by what they hold now. told is how git lists
// them, by status and name, and patch what it says of each, in the same order.
func inWorktree(run Run, told, patch string) []Change {
	changes := []Change{}
	parts := strings.Split("\n"+patch, "\ndiff --git ")[1:]
	for i, entry := range slices.Collect(slices.Chunk(strings.FieldsFunc(told, func(r rune) bool { return r == 0 }), 2)) {
		status, name := entry[0], entry[len(entry)-1]
		change := Change{Path: name, Existed: status != "A", Deleted: status == "D", Hash: hashOf(run.Worktree, name)}
		if i < len(parts) {
			change.Excerpt = core.Cut(parts[i], maxExcerpt)
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return changes
}
