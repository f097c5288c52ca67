package cli

import (
	"context"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/view"
)

func newTree(a *App) *cobra.Command {
	var all, details bool
	cmd := &cobra.Command{
		Use: "tree [FRAME]", Aliases: []string{"ls", "list"}, Short: "Draw the frames of this project", Example: "  flame tree --details",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.frameArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "archived frames too")
	cmd.Flags().BoolVar(&details, "details", false, "with summaries, reasons and artifacts")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		tree, err := view.OutlineOf(ctx, p, a.caller(), view.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all})
		switch {
		case err != nil:
			return err
		case tree.Empty():
			return a.out.Print([]core.Frame{}, a.noFrames(ctx, 0))
		}
		return a.out.Tree(ctx, tree, details)
	})
}
