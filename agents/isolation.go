package agents

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// Isolation says whether an agent gets a git worktree of its own.
type Isolation string

// The ways.
const (
	Worktree    Isolation = "worktree" // its own
	NoIsolation Isolation = "none"     // the folder that it was started for
)

// Values lists the ways.
func (Isolation) Values() []string { return core.Words(Worktree, NoIsolation) }

// PatchFile, in an agent's folder, is what it changed in a worktree of its own.
const PatchFile = "changes.patch"

// plainDiff is git's diff whatever the user's settings are.
var plainDiff = slices.Clip([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"})

// gitPatience bounds one call of git: a folder that hangs must not keep an agent from
// its end.
const gitPatience = 2 * time.Minute

// git runs git in a folder and gives what it printed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, gitPatience)
	defer stop()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", core.Invalidf("git %s: %s", args[0], core.OneLine(stderr.String()+" "+err.Error(), 300))
	}
	return stdout.String(), nil
}

// baseOf gives the commit that a folder is at; empty outside of git.
func baseOf(ctx context.Context, dir string) string {
	base, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(base)
}

// addWorktree makes a worktree for an agent that is to work in dir, and gives the
// same folder in it. What is not committed is not in it.
func addWorktree(ctx context.Context, dir, worktree string) (string, error) {
	prefix, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err == nil {
		_, err = git(ctx, dir, "worktree", "add", "--detach", worktree, "HEAD")
	}
	if err != nil {
		return "", core.Invalidf("the agent cannot have a worktree of its own: %v", err).
			WithHint("commit something first, or leave isolation out")
	}
	return filepath.Join(worktree, strings.TrimSpace(prefix)), nil
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
	if _, err := git(ctx, a.Dir, "worktree", "add", "--detach", run.Worktree, run.Base); err != nil {
		return err
	}
	patch := filepath.Join(a.Folder(last), PatchFile)
	if info, err := os.Stat(patch); err != nil || info.Size() == 0 {
		return nil
	}
	_, err := git(ctx, run.Worktree, "apply", "--whitespace=nowarn", patch)
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
	var names string
	if err == nil {
		names, err = git(ctx, run.Worktree, append(plainDiff, "--name-status", "-z", run.Base)...)
	}
	left := ""
	if err == nil {
		left, err = git(ctx, run.Worktree, "status", "--porcelain", "--ignored")
	}
	if err == nil && patch == "" && left == "" && baseOf(ctx, run.Worktree) == run.Base {
		_, err = git(ctx, run.Worktree, "worktree", "remove", "--force", run.Worktree)
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

// patchOf gives what a worktree holds that its base does not.
func patchOf(ctx context.Context, run Run) (string, error) {
	// Files that git does not know yet are part of a patch only once it is told.
	if _, err := git(ctx, run.Worktree, "add", "--all", "--intent-to-add"); err != nil {
		return "", err
	}
	return git(ctx, run.Worktree, append(plainDiff, "--binary", run.Base)...)
}

// isKept reports whether an agent's patch has all that its worktree holds now: another
// may have gone on there, or a person.
func (a *Agents) isKept(ctx context.Context, run Run) bool {
	kept, err := os.ReadFile(filepath.Join(a.Folder(run.ID), PatchFile))
	if err != nil {
		return false
	}
	now, err := patchOf(ctx, run)
	return err == nil && now == string(kept)
}

// inWorktree gives the changes to files by what they hold now. told is how git lists
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
