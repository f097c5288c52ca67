package agents

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/core"
	"flame/git"
	"flame/project"
)

// PatchFile, in an agent's folder, is what it changed in a worktree of its own.
const PatchFile = "changes.patch"

// isolate makes the worktree that an agent is to have, if any, and has it work
// there.
func (a *Agents) isolate(ctx context.Context, run record.Run) (record.Run, error) {
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
	return a.change(ctx, run.ID, func(_ project.Tx, kept *record.Run) error {
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
func (a *Agents) restoreWorktree(ctx context.Context, run record.Run, last string) error {
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
func (a *Agents) keepWorktree(ctx context.Context, run record.Run, told []changes.Change) []changes.Change {
	if _, err := os.Stat(run.Worktree); err != nil {
		return told
	}
	patch, err := worktreeOf(run).Patch(ctx)
	names, same := "", false
	if err == nil {
		names, err = worktreeOf(run).Diff(ctx, "--name-status", "-z")
	}
	if err == nil {
		same, err = worktreeOf(run).IsUntouched(ctx, patch)
	}
	if err == nil && same {
		_, err = git.Run(ctx, run.Worktree, "worktree", "remove", "--force", "--", run.Worktree)
		told = []changes.Change{}
	} else if err == nil {
		if err = os.WriteFile(filepath.Join(a.Folder(run.ID), PatchFile), []byte(patch), 0o600); err == nil {
			told = worktreeOf(run).Changes(names, patch)
		}
	}
	if err != nil {
		a.Project.Log.Warn("an agent's worktree stays as it is", "agent", run.ID, "error", err)
	}
	return told
}

// isKept reports whether an agent's patch has all that its worktree holds now: another
// may have gone on there, or a person.
func (a *Agents) isKept(ctx context.Context, run record.Run) bool {
	kept, err := os.ReadFile(filepath.Join(a.Folder(run.ID), PatchFile))
	if err != nil {
		return false
	}
	now, err := worktreeOf(run).Patch(ctx)
	if err != nil || now != string(kept) {
		return false
	}
	more, err := worktreeOf(run).InSubmodules(ctx)
	return err == nil && !more
}

func worktreeOf(run record.Run) changes.Worktree {
	return changes.Worktree{Dir: run.Worktree, Base: run.Base}
}
