package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/cli/printer"
	"flame/core"
	"flame/project"
	"flame/render"
)

// reads makes a command that opens the project, asks it and prints the answer.
func (a *App) reads(cmd *cobra.Command, run func(ctx context.Context, p *project.Project, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(p *project.Project) error { return run(cmd.Context(), p, args) })
	}
	return cmd
}

func newTree(a *App) *cobra.Command {
	var all, details bool
	cmd := &cobra.Command{
		Use: "tree [FRAME]", Short: "Draw the frames of this project", Example: "  flame tree --details",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.frameArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "archived frames too")
	cmd.Flags().BoolVar(&details, "details", false, "with summaries, reasons and artifacts")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		tree, err := p.Outline(ctx, a.caller(), project.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all})
		switch {
		case err != nil:
			return err
		case tree.Empty():
			return a.out.Print([]core.Frame{}, a.noFrames(ctx, 0))
		}
		return a.out.Tree(ctx, tree, details)
	})
}

// noFrames says so where none are shown, and names data that may be the project's
// from before it was moved; empty where there are some.
func (a *App) noFrames(ctx context.Context, shown int) string {
	at, err := a.place()
	if err != nil || shown > 0 {
		return ""
	}
	text := "No frames yet in " + at.Dir + ". `flame push GOAL` starts one, `flame demo` shows how agents do."
	for _, kept := range a.candidates(ctx, at) {
		text += "\n" + mayBeOurs(kept) + "; `flame where --adopt " + kept.Name + "` takes it over"
	}
	return text
}

func newStatus(a *App) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the current frame and the tree around it", Example: "  flame status --line", Args: flags.Takes(0, 0),
	}
	cmd.Flags().BoolVar(&short, "line", false, "one line, for a host's status line")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		if short {
			return a.statusLine(ctx, p)
		}
		tree, err := p.Tree(ctx, a.caller(), project.TreeArgs{Limit: statusLimit})
		if err != nil {
			return err
		}
		text := a.noFrames(ctx, len(tree.Lines))
		if text == "" {
			text = render.Status(tree)
		}
		nodes, more, err := printer.TreeJSON(tree.Lines, tree.Current)
		if err != nil {
			return err
		}
		return a.out.Draw(status{tree.Current, tree.Counts, nodes, more}, text)
	})
}

// A status is what `flame status --json` prints.
type status struct {
	Current string              `json:"current,omitempty"`
	Counts  map[core.Status]int `json:"counts"`
	Tree    json.RawMessage     `json:"tree"`
	More    map[core.Status]int `json:"more,omitempty"` // roots left out
}

// statusLimit is how many frames a status shows before it counts the rest.
const statusLimit = 60

// statusLine is the current frame in one line; without one nothing, or null.
func (a *App) statusLine(ctx context.Context, p *project.Project) error {
	frame, ok, err := p.Current(ctx, a.caller())
	switch {
	case err != nil || !ok && !a.out.JSON:
		return err
	case !ok:
		return a.out.Print(nil, "")
	}
	return a.out.Frame(frame, frame.Status.Icon()+" "+render.Short(frame.Goal)+shortUsage(frame.Usage))
}

// shortUsage tells what a frame's work consumed in a few words; nothing without
// any.
func shortUsage(u core.Usage) string {
	tokens := u.TokensIn + u.TokensOut + u.CacheRead + u.CacheWritten
	if tokens == 0 {
		return ""
	}
	used := render.Count(tokens, "token")
	if u.CostUSD == 0 { // the model's price is not known
		return fmt.Sprintf(" (%s)", used)
	}
	return fmt.Sprintf(" (%s, %s)", used, render.Money(u.CostUSD))
}

func newShow(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show FRAME", Short: "Show all of one frame", Example: "  flame show frame-k3x9", Args: flags.Takes(1, 1), ValidArgsFunction: a.frameArgs,
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		details, err := p.Details(ctx, a.caller(), args[0])
		if err != nil {
			return err
		}
		return a.out.Frame(details.Frame, render.Details(details))
	})
}

func newContext(a *App) *cobra.Command {
	var chars uint
	cmd := &cobra.Command{
		Use: "context [FRAME]", Short: "Show what an agent in a frame is told", Example: "  flame context frame-k3x9",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.frameArgs,
	}
	cmd.Flags().UintVar(&chars, "chars", 0, "limit in characters (0: none)")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		made, err := p.Context(ctx, a.caller(), lo.FirstOrEmpty(args), int(chars))
		if err != nil {
			return err
		}
		if made.Text == "" {
			return core.Invalidf("no context fits in %d characters", chars).WithHint("allow some 500 or more")
		}
		return a.out.Print(map[string]any{"frame": made.Frame.ID, "text": made.Text, "meta": made.Meta}, made.Text)
	})
}

func newSearch(a *App) *cobra.Command {
	var search project.SearchArgs
	var limit uint
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find frames by words of goals, summaries, results and decisions", Example: "  flame search login --status completed",
		Args: flags.Takes(1, -1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.Choose(cmd, &search.Status, "status", "only frames of this status", core.Words(core.Statuses...)...)
	cmd.Flags().UintVar(&limit, "limit", 20, "at most so many, up to 100")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		search.Text, search.Limit = strings.Join(args, " "), int(limit)
		found, err := p.Search(ctx, a.caller(), search)
		if err != nil {
			return err
		}
		return a.out.Frames(found, foundText(search.Text, found))
	})
}

// foundText lists what a search found, each frame with its summary.
func foundText(text string, found []core.Frame) string {
	if len(found) == 0 {
		return fmt.Sprintf("No frame has all the words of %q.", render.Short(text))
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(render.ShortFrame(f) + "\n")
		if f.Summary != "" {
			b.WriteString("  " + render.Short(f.Summary) + "\n")
		}
	}
	return b.String()
}

func newStats(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count frames, sessions and what they consumed", Example: "  flame stats --json", Args: flags.Takes(0, 0)}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		stats, err := p.Stats(ctx)
		if err != nil {
			return err
		}
		return a.out.Print(stats, statsText(stats))
	})
}

func statsText(stats project.Stats) string {
	var b strings.Builder
	b.WriteString(render.Count(stats.Total, "frame"))
	for _, status := range core.Statuses {
		if n := stats.Frames[status]; n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, status)
		}
	}
	b.WriteString("\nsessions:")
	for _, state := range []core.SessionState{core.SessionActive, core.SessionIdle, core.SessionSuspended, core.SessionEnded} {
		fmt.Fprintf(&b, " %d %s", stats.Sessions[string(state)], state)
	}
	return b.String() + "\nusage: " + render.Usage(stats.Usage)
}
