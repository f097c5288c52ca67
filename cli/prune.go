package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/sweep"
	"flame/render"
)

func newPrune(a *app.App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Archive roots without work that are older than a week", Example: "  flame prune --delete", Args: flags.Takes(0, 0),
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "delete them, archived ones too")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		pruned, err := sweep.Prune(ctx, p, remove)
		if err != nil {
			return err
		}
		what := "archived"
		if remove {
			what = "deleted"
		}
		return a.Out.Frames(pruned, render.Count(len(pruned), "frame")+" "+what+"\n"+render.ShortFrames(pruned))
	})
}
