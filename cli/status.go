package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/cli/printer"
	"flame/core"
	"flame/project"
	"flame/project/usage"
	"flame/project/view"
	"flame/render"
)

func newStatus(a *app.App) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the current frame and the tree around it", Example: "  flame status --line", Args: flags.Takes(0, 0),
	}
	cmd.Flags().BoolVar(&short, "line", false, "one line of at most 80 columns, for a host's status line")
	cmd.PersistentPreRun = func(*cobra.Command, []string) {
		if !short {
			a.Warn()
		}
	}
	whole := a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		tree, err := view.TreeOf(ctx, p, a.Caller(), view.TreeArgs{Limit: statusLimit})
		if err != nil {
			return err
		}
		metered, err := view.MeteredOf(ctx, p)
		if err != nil {
			return err
		}
		text := a.NoFrames(ctx, len(tree.Lines))
		if text == "" {
			text = render.Status(tree, a.Out.Width()) + render.MeteredLine(metered)
		}
		nodes, more, err := printer.TreeJSON(tree.Lines, tree.Current)
		if err != nil {
			return err
		}
		return a.Out.Draw(status{tree.Current, tree.Counts, nodes, more, metered}, text)
	}).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if short {
			return statusLine(cmd.Context(), a)
		}
		return whole(cmd, args)
	}
	return cmd
}

// A status is what `flame status --json` prints.
type status struct {
	Current string              `json:"current,omitempty"`
	Counts  map[core.Status]int `json:"counts"`
	Tree    json.RawMessage     `json:"tree"`
	More    map[core.Status]int `json:"more,omitempty"`    // roots left out
	Metered []usage.Metered     `json:"metered,omitempty"` // requests of the project that gateways measured
}

// statusLimit is how many frames a status shows before it counts the rest.
const statusLimit = 60
