package render

import (
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/outline"
	"flame/hosts"
	"flame/project/view"
)

// Today says how a project stands, in the lines of a terminal of that width (0: no limit): what is
// open and where, what needs a person, what was finished and decided, what it cost, and what to do next.
// conflicts counts those between agents that only a person can settle; around is what to show before the last line.
func Today(t view.Today, conflicts int, around string, known hosts.Registry, now core.Millis, width int) string {
	var b strings.Builder
	part := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + title + "\n")
		for _, line := range lines {
			b.WriteString("  " + core.OneLine(line, max(0, width-len("  "))) + "\n")
		}
	}
	open := lo.Map(t.Open, func(s view.OpenSession, _ int) string {
		state := "waits for you, " + Ago(now, s.Heard)
		if s.Working {
			state = "at work"
		}
		return strings.Join(s.Goals, " › ") + " (" + known.Title(s.Host) + ", " + state + ")"
	})
	for _, f := range t.Left {
		open = append(open, core.OneLine(f.Goal, 100)+" (no session works in it, "+Ago(now, f.UpdatedAt)+")")
	}
	part("Open", open)
	needs := lo.Map(t.Blocked, func(f core.Frame, _ int) string { return endedLine(f) })
	if conflicts > 0 {
		needs = append(needs, Count(conflicts, "conflict")+" between agents: `flame agents review`")
	}
	part("Needs you", needs)
	part("Finished since yesterday", lo.Map(t.Done, func(f core.Frame, _ int) string { return endedLine(f) }))
	part("Decided since yesterday", lo.Map(t.Decided, func(d view.Decided, _ int) string { return d.Text + " (" + d.Goal + ")" }))
	used := t.Used != core.Usage{}
	if used {
		fmt.Fprintf(&b, "\nUsed by these sessions: %s, %s", Tokens(t.Used.Tokens()), Cost(t.Used))
	}
	if t.Spared > 0 {
		b.WriteString(lo.Ternary(used, "; ", "\n") + fmt.Sprintf("folding left out %s of %s", Size(t.Spared), Size(t.Given)))
	}
	return Off(t.Off) + Counts(t.Counts) + "\n" + b.String() + lo.Ternary(used || t.Spared > 0, "\n", "") + around + "\nNext: " + next(t) + "\n"
}

// endedLine tells of a frame that ended.
func endedLine(f core.Frame) string {
	line := outline.Icon(f.Status) + " " + core.OneLine(f.Goal, 60)
	if f.Summary != "" {
		line += ": " + core.OneLine(f.Summary, 200)
	}
	return line
}

// next names the commands that go on from here.
func next(t view.Today) string {
	commands := "`flame tree` shows all of it, `flame web` the page"
	if len(t.Open) == 0 && t.Counts[core.InProgress]+t.Counts[core.Planned] > 0 {
		return "`flame continue HOST` goes on with what is open; " + commands
	}
	return commands
}
