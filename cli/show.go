package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

func newShow(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show FRAME", Short: "Show everything about one frame", Example: "  flame show frame-k3x9", Args: flags.Takes(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		details, err := view.DetailsOf(ctx, p, a.Caller(), args[0])
		if err != nil {
			return err
		}
		return a.Out.Details(details, render.Details(details))
	})
}
