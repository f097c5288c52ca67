package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/core"
	"flame/project"
	"flame/tools"
)

// oneLine brings a frame's text to what fits in a line of a terminal.
func oneLine(text string) string { return core.OneLine(text, 100) }

// line gives a frame in one line.
func line(f core.Frame) string { return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, oneLine(f.Goal)) }

func lines(frames []core.Frame) string {
	return strings.Join(lo.Map(frames, func(f core.Frame, _ int) string { return line(f) }), "\n")
}

// reads makes a command that opens the project, asks it and prints the answer.
func (a *App) reads(cmd *cobra.Command, run func(ctx context.Context, p *project.Project, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(p *project.Project) error { return run(cmd.Context(), p, args) })
	}
	return cmd
}

// A node of the tree as `flame tree --json` prints it.
type treeNode struct {
	core.Frame
	Current  bool                `json:"current,omitempty"`
	Children []treeNode          `json:"children,omitempty"`
	More     map[core.Status]int `json:"more,omitempty"` // children left out
}

func treeNodes(nodes []core.TreeNode, current string) []treeNode {
	out := make([]treeNode, len(nodes))
	for i, n := range nodes {
		out[i] = treeNode{n.Frame, n.Frame.ID == current, treeNodes(n.Children, current), n.More}
	}
	return out
}

func newTree(a *App) *cobra.Command {
	var all, details bool
	cmd := &cobra.Command{
		Use: "tree [FRAME]", Short: "Draw the frames of this project", Example: "  flame tree --details",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.frameArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "archived frames too")
	cmd.Flags().BoolVar(&details, "details", false, "with summaries, reasons and artifacts")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		tree, err := p.Tree(ctx, a.caller(), project.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all})
		if err != nil {
			return err
		}
		if len(tree.Nodes) == 0 {
			return a.print(treeNodes(tree.Nodes, ""), "No frames yet. `flame push GOAL` starts one, `flame demo` shows how agents do.")
		}
		drawn := core.DrawTree(tree.Nodes, core.DrawOptions{Current: tree.Current, Details: details})
		return a.print(treeNodes(tree.Nodes, tree.Current), a.coloured(drawn)+core.TreeLegend())
	})
}

func newStatus(a *App) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the current frame and the tree around it", Example: "  flame status --line", Args: cobra.NoArgs,
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
		return a.print(map[string]any{
			"current": tree.Current, "counts": tree.Counts, "tree": treeNodes(tree.Nodes, tree.Current), "more": tree.More,
		}, tools.StatusText(tree))
	})
}

// statusLimit is how many frames a status shows before it counts the rest.
const statusLimit = 60

// statusLine is the current frame in one line; empty when there is none.
func (a *App) statusLine(ctx context.Context, p *project.Project) error {
	frame, ok, err := p.Current(ctx, a.caller())
	if err != nil || !ok {
		return err
	}
	return a.frame(frame, frame.Status.Icon()+" "+oneLine(frame.Goal))
}

func newShow(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show FRAME", Short: "Show all of one frame", Example: "  flame show frame-k3x9", Args: cobra.ExactArgs(1), ValidArgsFunction: a.frameArgs,
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		details, err := p.Details(ctx, a.caller(), args[0])
		if err != nil {
			return err
		}
		return a.frame(details.Frame, tools.DetailsText(details))
	})
}

func newContext(a *App) *cobra.Command {
	var chars int
	cmd := &cobra.Command{
		Use: "context [FRAME]", Short: "Show what an agent in a frame is told", Example: "  flame context frame-k3x9",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.frameArgs,
	}
	cmd.Flags().IntVar(&chars, "chars", 0, "limit in characters (0: none)")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		made, err := p.Context(ctx, a.caller(), lo.FirstOrEmpty(args), chars)
		if err != nil {
			return err
		}
		return a.print(map[string]any{"frame": made.Frame.ID, "text": made.Text, "meta": made.Meta}, made.Text)
	})
}

func newSearch(a *App) *cobra.Command {
	var search project.SearchArgs
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find frames by words of goals, summaries, results and decisions", Example: "  flame search login --status completed",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar((*string)(&search.Status), "status", "", "only frames of this status")
	cmd.Flags().IntVar(&search.Limit, "limit", 20, "at most so many")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		search.Text = strings.Join(args, " ")
		found, err := p.Search(ctx, a.caller(), search)
		if err != nil {
			return err
		}
		return a.print(append([]core.Frame{}, found...), tools.SearchText(search.Text, found))
	})
}

func newStats(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count frames, sessions and what they consumed", Example: "  flame stats --json", Args: cobra.NoArgs}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		stats, err := p.Stats(ctx)
		if err != nil {
			return err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d frames", stats.Total)
		for _, status := range core.Statuses {
			if n := stats.Frames[status]; n > 0 {
				fmt.Fprintf(&b, ", %d %s", n, status)
			}
		}
		b.WriteString("\nsessions:")
		for _, state := range []core.SessionState{core.SessionActive, core.SessionIdle, core.SessionSuspended, core.SessionEnded} {
			fmt.Fprintf(&b, " %d %s", stats.Sessions[string(state)], state)
		}
		fmt.Fprintf(&b, "\nusage: %s", tools.UsageText(stats.Usage))
		return a.print(stats, b.String())
	})
}

// completeFrames offers frame ids for a flag.
func (a *App) completeFrames(cmd *cobra.Command, flag string) {
	// The error is for an unknown flag, which the caller has just defined.
	_ = cmd.RegisterFlagCompletionFunc(flag, a.frameArgs)
}

// frameArgs offers frame ids to the shell, with their goals.
func (a *App) frameArgs(cmd *cobra.Command, args []string, prefix string) (offers []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.with(cmd.Context(), func(p *project.Project) error {
		frames, err := p.Complete(cmd.Context(), prefix, 50)
		for _, f := range frames {
			offers = append(offers, cobra.CompletionWithDesc(f.ID, core.OneLine(f.Goal, 40)))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}
