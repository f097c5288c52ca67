package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render"
)

func newActivate(a *app.App) *cobra.Command {
	cmd := writes(a, writing{
		use: "activate FRAME", short: "Start a planned, blocked or finished frame", example: "flame activate plan-k3x9",
		args: flags.Takes(1, 1),
		flags: func(cmd *cobra.Command, given *writeFlags) {
			cmd.Flags().BoolVar(&given.force, "force", false, "take it from a session that is gone")
		},
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			done, err := stack.Activate(ctx, p, by, args[0], given.force)
			text := fmt.Sprintf("%s: %s -> %s", done.Frame.ID, done.From, done.Frame.Status)
			if done.Here {
				text = done.Frame.ID + " is the current frame already"
			}
			if from := render.TakenFrom(done); from != "" {
				text += "\n" + from
			}
			if done.Under != "" {
				text += "\n" + render.UnderEnded(done)
			}
			return done.Frame, text, err
		},
	})
	cmd.ValidArgsFunction = a.FrameArgs
	return cmd
}
