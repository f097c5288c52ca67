package cli

import (
	"context"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/view"
)

func newTree(a *app.App) *cobra.Command {
	var all, details bool
	cmd := &cobra.Command{
		Use: "tree [FRAME]", Aliases: []string{"ls", "list"}, Short: "Draw the frames of this project", Example: "  flame tree --details",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "archived frames too")
	cmd.Flags().BoolVar(&details, "details", false, "with summaries, reasons, decisions and artifacts")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		tree, err := view.OutlineOf(ctx, p, a.Caller(), view.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all})
		switch {
		case err != nil:
			return err
		case tree.Empty():
			return a.Out.Print([]core.Frame{}, a.NoFrames(ctx, 0))
		}
		return a.Out.Tree(ctx, tree, details)
	})
}
