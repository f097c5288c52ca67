package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/supervise"
	"flame/core"
)

// runLine gives an agent in one line.
func runLine(run agents.Run) string {
	return fmt.Sprintf("%s (%s) %s: %s", run.ID, run.State, run.Type, quote(run.Description))
}

// stateLine says how far an agent is.
func stateLine(run agents.Run) string {
	p := run.Progress
	line := fmt.Sprintf("%s: %d tool calls, %d tokens, %s", runLine(run), p.ToolCalls, p.Tokens(), duration(run))
	if p.Cost() > 0 {
		line += fmt.Sprintf(", %.4f USD", p.Cost())
	}
	if p.LastTool != "" && !run.State.Ended() {
		line += ", last " + p.LastTool
	}
	return line
}

// duration is how long an agent took, or has taken by its last sign.
func duration(run agents.Run) string {
	end := max(run.EndedAt, run.Progress.LastLine, run.CreatedAt)
	return (time.Duration(end-run.CreatedAt) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// spawnedText answers a spawn.
func spawnedText(a *agents.Agents, run agents.Run) string {
	if run.State.Ended() {
		return AgentText(a, run)
	}
	return AgentText(a, run) +
		"It works by itself now: do not do its work, go on with yours. When it ends, that is in your next context. " +
		"flame_agent_status shows how far it is, flame_agent_wait waits, flame_agent_result gives all it came to."
}

// AgentText says what an agent is, what it may do, and how far it is.
func AgentText(a *agents.Agents, run agents.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFrame: %s, depth %d, in %s\n", stateLine(run), run.Frame, run.Depth, run.Host)
	b.WriteString(field("Session", run.Session))
	fmt.Fprintf(&b, "Mode: %s\nTools: %s\n", modeText(run.Mode), run.Tools)
	b.WriteString(field("Model", run.Model))
	fmt.Fprintf(&b, "Limits: %s\n", limitsText(run.Limits))
	fmt.Fprintf(&b, "Output: %s\n", filepath.Join(a.Folder(run.ID), supervise.OutputFile))
	b.WriteString(field("Worktree", run.Worktree))
	b.WriteString(bullets("Warnings:", run.Warnings))
	if o := run.Outcome; o != nil {
		fmt.Fprintf(&b, "Ended: %s\n", o.Reason)
		b.WriteString(field("Error", core.OneLine(o.Error, 500)))
	}
	return b.String()
}

// modeText is a mode with what it came from.
func modeText(m agents.ModeChoice) string {
	text := string(m.Effective)
	if m.CappedBy != "" {
		text += fmt.Sprintf(" (%s was asked for; the %s allows no more)", m.Requested, m.CappedBy)
	}
	if m.Grant != "" {
		text += " (by " + m.Grant + ")"
	}
	return text
}

func limitsText(l supervise.Limits) string {
	var parts []string
	for _, clock := range []struct {
		name string
		time time.Duration
	}{{"in all", l.Wall}, {"without a sign", l.Idle}} {
		if clock.time > 0 {
			parts = append(parts, clock.time.String()+" "+clock.name)
		}
	}
	if l.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", l.CostUSD))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// maxAnswer bounds how much of an agent's answer one reply gives, in characters:
// Claude Code cuts what is over 25,000 tokens.
const maxAnswer = 60_000

// ResultText gives all that an agent came to; of its answer, most characters after
// offset (0: all).
func ResultText(r agents.Result, offset, most int) string {
	var b strings.Builder
	b.WriteString(stateLine(r.Run) + "\n")
	fmt.Fprintf(&b, "Frame: %s\n", r.Frame)
	if r.StopReason != "" {
		fmt.Fprintf(&b, "Ended: %s\n", r.StopReason)
	}
	if o := r.Outcome; o != nil {
		b.WriteString(field("Error", core.OneLine(o.Error, 1_000)))
		if r.State != core.AgentCompleted {
			b.WriteString(field("Stderr", core.OneLine(o.Stderr, 1_000)))
		}
	}
	b.WriteString(bullets("Files changed:", r.Files) + bullets("Artifacts:", r.Artifacts) + bullets("Decisions:", r.Decisions))
	if r.Confidence != nil {
		fmt.Fprintf(&b, "Confidence: %.2f\n", *r.Confidence)
	}
	u := r.Usage
	fmt.Fprintf(&b, "Usage: %d in, %d out, %d read from cache, %d written to it", u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten)
	if r.Thinking > 0 {
		fmt.Fprintf(&b, ", about %d for thinking", r.Thinking)
	}
	fmt.Fprintf(&b, "; %d tool calls, %d retries\n", u.ToolCalls, r.Progress.Attempt)
	if r.Partial && r.State != core.AgentCompleted {
		fmt.Fprintf(&b, "Not complete. Everything it printed is in %s\n", r.Folder)
	}
	b.WriteString("\n" + answerText(r, offset, most))
	return b.String()
}

// answerText is the part of an answer from offset on.
func answerText(r agents.Result, offset, most int) string {
	text := []rune(r.Text)
	switch {
	case len(text) == 0 && r.State.Ended():
		return "(" + string(r.State) + " with no text)\n"
	case len(text) == 0:
		return "(no text so far)\n"
	case offset >= len(text):
		return fmt.Sprintf("(the answer ends at %d)\n", len(text))
	}
	text = text[offset:]
	if most == 0 || len(text) <= most {
		return string(text) + "\n"
	}
	return string(text[:most]) + fmt.Sprintf("\n… %d characters more: flame_agent_result with offset %d\n", len(text)-most, offset+most)
}

// RunsText lists agents, those below others indented.
func RunsText(runs []agents.Run) string {
	if len(runs) == 0 {
		return "No agents. spawn_agent starts one."
	}
	var b strings.Builder
	for i, run := range runs {
		if i == maxListed {
			fmt.Fprintf(&b, "and %d more\n", len(runs)-maxListed)
			break
		}
		b.WriteString("- " + stateLine(run))
		if run.ParentAgent != "" {
			b.WriteString(", started by " + run.ParentAgent)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ConvergedText says what a convergence came to: its output, at most so many
// characters of it (0: all), and the conflicts.
func ConvergedText(c agents.Convergence, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Result.Rationale)
	for _, conflict := range c.Result.Conflicts {
		b.WriteString(conflictText(conflict))
	}
	for _, ignored := range c.Result.Ignored {
		fmt.Fprintf(&b, "Not used: %s (%s): %s\n", ignored.SubagentID, ignored.Outcome, ignored.Reason)
	}
	if c.Result.Unresolved > 0 {
		fmt.Fprintf(&b, "No output: %d conflicts wait for review. Nothing is lost: every side is kept. A person settles them with `flame agents review %s --choose CONFLICT=ID`, "+
			"or converge again with conflict_resolution auto_accept_latest or prefer_higher_confidence.\n", c.Result.Unresolved, c.ID)
		return b.String()
	}
	text := []rune(c.Text)
	if most > 0 && len(text) > most {
		return b.String() + "\n" + string(text[:most]) + fmt.Sprintf("\n… %d characters more: `flame agents review %s`\n", len(text)-most, c.ID)
	}
	return b.String() + "\n" + c.Text + "\n"
}

// conflictText is a conflict with its sides.
func conflictText(c converge.Conflict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Conflict %s", c.ID)
	if c.Resolved() {
		fmt.Fprintf(&b, ": %s wins (%s)", c.Winner, c.Resolution)
	}
	b.WriteByte('\n')
	for _, side := range c.Sides {
		fmt.Fprintf(&b, "- %s: %s\n", side.SubagentID, core.OneLine(side.Excerpt, 200))
	}
	return b.String()
}

// CancelledText says which agents were told to stop when run was to be, for models
// and people.
func CancelledText(run agents.Run, stopped []agents.Run) string {
	if len(stopped) == 0 {
		return fmt.Sprintf("%s was over already: %s.", run.ID, run.State)
	}
	var b strings.Builder
	b.WriteString("Told to stop:\n")
	for _, run := range stopped {
		b.WriteString("- " + runLine(run) + "\n")
	}
	b.WriteString("What they did is kept; their frames will be blocked. flame_agent_result shows how far they came.")
	return b.String()
}
