package render

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/converge"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
)

// Converged returns the outcome of a convergence: its conflicts and at most so
// many characters of its output (0: all). If conflicts leave it without an
// output, next says how to continue. It fails if its agents cannot be found.
func Converged(ctx context.Context, a *agents.Agents, c converge.Convergence, most int) (text, next string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Result.Rationale)
	open := c.Result.Unresolved > 0
	whole := open || c.Result.Format != converge.Markdown // Markdown lists conflicts itself
	for _, conflict := range c.Result.Conflicts {
		if whole {
			b.WriteString(Conflict(conflict))
		}
		settled, err := settledFile(ctx, a, conflict)
		if err != nil {
			return "", "", err
		}
		b.WriteString(settled)
	}
	if whole {
		b.WriteString(differencesText(c.Result.Differences))
	}
	if len(c.Result.Differences) > 0 && len(c.Options.Conflicts) == 0 {
		fmt.Fprintf(&b, "Read what was not compared. If agents contradict each other there, converge again with %s.\n", op.ArgConflicts)
	}
	for _, ignored := range c.Result.Ignored {
		if whole {
			fmt.Fprintf(&b, "Not used: %s (%s): %s\n", ignored.SubagentID, ignored.Outcome, ignored.Reason)
		}
	}
	if open {
		return b.String(), toReview(c), nil
	}
	output := []rune(c.Text)
	if most > 0 && len(output) > most {
		return b.String() + "\n" + string(output[:most]) + fmt.Sprintf("\n… %s more: `flame agents review %s`\n", Count(len(output)-most, "character"), c.ID), "", nil
	}
	return b.String() + "\n" + c.Text + "\n", "", nil
}

// toReview says how to continue when conflicts are left.
func toReview(c converge.Convergence) string {
	return fmt.Sprintf("No output: %s to review. Nothing is lost: every side is kept. A person settles them with `flame agents review %s`, "+
		"which asks for each in a terminal, or converge again with %s auto_accept_latest or prefer_higher_confidence.\n",
		Count(c.Result.Unresolved, "conflict"), c.ID, op.ArgResolution)
}

// maxSide is how many lines of a side are shown.
const maxSide = 12

// Conflict returns a conflict with its sides.
func Conflict(c converge.Conflict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Conflict %s", c.ID)
	if c.Resolved() {
		fmt.Fprintf(&b, ": %s wins (%s)", c.Winner, c.Resolution)
	}
	b.WriteByte('\n')
	for _, side := range c.Sides {
		name := side.SubagentID
		if side.Task != "" {
			name += " (" + core.OneLine(side.Task, 0) + ")"
		}
		lines := strings.Split(strings.TrimSpace(side.Excerpt), "\n")
		if len(lines) == 1 {
			fmt.Fprintf(&b, "- %s: %s\n", name, core.OneLine(side.Excerpt, 200))
			continue
		}
		fmt.Fprintf(&b, "- %s:\n", name)
		for _, line := range lines[:min(len(lines), maxSide)] {
			fmt.Fprintf(&b, "    %s\n", core.OneLine(line, 160))
		}
		if more := len(lines) - maxSide; more > 0 {
			fmt.Fprintf(&b, "    … %s more\n", Count(more, "line"))
		}
	}
	return b.String()
}

// differencesText returns what agents say differently and flame did not compare.
func differencesText(differences []converge.Difference) string {
	var b strings.Builder
	for _, d := range differences {
		fmt.Fprintf(&b, "Not compared: %s\n", d.About)
		for _, side := range d.Sides {
			fmt.Fprintf(&b, "- %s: %s\n", strings.Join(side.SubagentIDs, ", "), core.OneLine(side.Says, maxDifference))
		}
	}
	return b.String()
}

// maxDifference is how many characters of a text that was not compared are shown.
const maxDifference = 400

// settledFile says where the versions of a file are after a conflict about it was settled: flame
// itself does not write the file. It is empty for other conflicts.
func settledFile(ctx context.Context, a *agents.Agents, c converge.Conflict) (string, error) {
	if c.Kind != converge.KindFile || !c.Resolved() {
		return "", nil
	}
	var winner record.Agent
	var inPlace []record.Agent // those that had no worktree of their own
	for _, side := range c.Sides {
		run, err := a.Find(ctx, side.SubagentID)
		if err != nil {
			return "", err
		}
		if run.Worktree == "" {
			inPlace = append(inPlace, run)
		}
		if run.ID == c.Winner {
			winner = run
		}
	}
	return fmt.Sprintf("Flame writes no file: %s. What %s did: %s.\n", onDisk(core.OneLine(c.Key, MaxGoal), inPlace), winner.ID, whereIs(a, winner)), nil
}

// onDisk says whose version of a file is on the disk, if flame knows it, for agents that changed
// the file in place.
func onDisk(path string, by []record.Agent) string {
	if len(by) == 0 {
		return "each agent changed " + path + " in its own worktree"
	}
	last := slices.MaxFunc(by, func(x, y record.Agent) int { return int(x.EndedAt - y.EndedAt) })
	atOnce := false
	for _, run := range by {
		if run.Cwd != last.Cwd {
			return "it is not known whose " + path + " is on the disk"
		}
		atOnce = atOnce || run.ID != last.ID && run.EndedAt > last.CreatedAt
	}
	switch {
	case len(by) == 1:
		return path + " on the disk is as " + last.ID + " left it"
	case atOnce:
		return path + " on the disk is probably as " + last.ID + " left it, which ended last"
	}
	return path + " on the disk is as " + last.ID + " left it, which came last"
}

// whereIs says where an agent's changes of files are.
func whereIs(a *agents.Agents, run record.Agent) string {
	patch := filepath.Join(a.Folder(run.ID), changes.PatchFile)
	if _, err := os.Stat(patch); err == nil {
		return "`git apply " + patch + "`"
	}
	if run.Worktree != "" {
		return "it is in " + run.Worktree
	}
	return fmt.Sprintf("it is in its log, `flame log %s` and `flame agents result %s`", run.Frame, run.ID)
}
