package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/render"
	"flame/render/board"
)

// projectState is how a project stands, as programs read it.
type projectState struct {
	Off    bool                `json:"off,omitempty"`
	Counts map[core.Status]int `json:"counts"`
	board.Today
}

// newToday makes what flame does without a command: it says how the project stands.
func newToday(a *app.App) *cobra.Command {
	return a.NeedsAgents(&cobra.Command{}, func(ctx context.Context, s *agents.Agents, _ []string) error {
		today, text, err := todayOf(ctx, a, s, "")
		if err != nil {
			return err
		}
		return a.Out.Draw(today, text)
	})
}

// todayOf returns how the project stands, and the same in words; around is the part of the tree to show with them.
func todayOf(ctx context.Context, a *app.App, s *agents.Agents, around string) (t projectState, text string, err error) {
	err = s.Project.View(ctx, a.Caller(), func(o *project.Op) (err error) {
		if t.Off, err = o.Off(); err == nil {
			t.Counts, err = o.Tx.CountFrames(project.FrameQuery{})
		}
		return err
	})
	if err == nil {
		t.Today, err = board.TodayOf(ctx, s.Project, a.Hosts)
	}
	if err == nil && project.Total(t.Counts) == 0 {
		return t, render.Off(t.Off) + a.NoFrames(ctx) +
			"\n`flame setup` connects flame to the hosts on this machine; then start one of them here.\n`flame help` lists all commands.", nil
	}
	return t, t.text(around, s.Project.Now(), a.Out.Width()), err
}

// maxToday bounds each list of a project's state.
const maxToday = 8

// text says it in the lines of a terminal of that width (0: no limit).
func (t projectState) text(around string, now core.Millis, width int) string {
	var b strings.Builder
	part := func(title string, items []board.Item) {
		if len(items) == 0 {
			return
		}
		b.WriteString("\n" + title + "\n")
		for _, i := range items[:min(len(items), maxToday)] {
			b.WriteString("  " + core.OneLine(line(i, now, width), max(0, width-3)) + "\n")
		}
		switch more := len(items) - maxToday; {
		case len(items) == board.MaxItems:
			fmt.Fprintf(&b, "  and %d more at least\n", more)
		case more > 0:
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	late := func(items []board.Item) []board.Item {
		return lo.Filter(items, func(i board.Item, _ int) bool { return i.At >= t.Since })
	}
	part("Needs you", t.Needs)
	part("In progress", t.Works)
	part("Finished since yesterday", late(t.Done))
	part("Decided since yesterday", late(t.Decided))
	if t.Spent != "" {
		b.WriteString("\n" + t.Spent + "\n")
	}
	return render.Off(t.Off) + render.Counts(t.Counts) + "\n" + b.String() + around + "\nNext: " + t.next() + "\n"
}

// line is an item in one line, in which what is above the item takes a third of the width at most. Signs are
// those of statuses, as in trees; what else needs a person has that of what is blocked.
func line(i board.Item, now core.Millis, width int) string {
	sign := core.Status(i.Sign)
	switch {
	case i.Sign == "live":
		sign = core.InProgress
	case !slices.Contains(core.Statuses, sign):
		sign = core.Blocked
	}
	text := strings.Join(lo.Compact([]string{core.OneLine(strings.Join(i.Above, " › "), width/3), i.Text}), " › ")
	if i.Sign != "decision" {
		text = outline.Icon(sign) + " " + text
	}
	if i.Why != "" {
		text += ": " + i.Why
	}
	since := lo.Ternary(i.At > 0, render.Ago(now, i.At), "")
	if i.Sign == "live" {
		since = core.Span(i.Took(now))
	}
	notes := lo.Compact([]string{i.Who, since, lo.Ternary(i.Conflict != "", "`flame agents review`", "")})
	if len(notes) == 0 { // an imported frame has no times
		return text
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}

// next names the commands that go on from here.
func (t projectState) next() string {
	commands := "`flame tree` shows all of it, `flame web` the page"
	isLive := func(i board.Item) bool { return i.Sign == "live" || i.Sign == "person" }
	if t.Counts[core.InProgress]+t.Counts[core.Planned] > 0 && !lo.ContainsBy(append(t.Works, t.Needs...), isLive) {
		return "`flame continue HOST` goes on with what is open; " + commands
	}
	return commands
}
