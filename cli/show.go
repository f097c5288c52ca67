package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

func newShow(a *app.App) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use: "show FRAME", Short: "Show everything about one frame", Example: "  flame show frame-k3x9\n  flame show frame-k3x9 --diff",
		Args: flags.Takes(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "print the patches of the files that were changed in it")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		details, err := view.DetailsOf(ctx, p, a.Caller(), args[0])
		if err != nil {
			return err
		}
		service, err := a.AgentsOf(p)
		if err != nil {
			return err
		}
		if details.Files, err = agents.FilesOf(ctx, service, a.Caller(), details.Frame.ID); err != nil {
			return err
		}
		if diff {
			return a.Out.Details(details, render.Patches(details.Files))
		}
		details.Files = details.Files.Bare()
		return a.Out.Details(details, render.Details(details))
	})
}
