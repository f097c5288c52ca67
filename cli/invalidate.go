package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render"
)

func newInvalidate(a *app.App) *cobra.Command {
	cmd := writes(a, writing{
		use: "invalidate FRAME REASON", short: "Mark a frame, and what is planned below it, as no longer valid",
		example: `flame invalidate frame-k3x9 "The API changed"`,
		args:    flags.Takes(2, -1),
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, _ *writeFlags) (core.Frame, string, error) {
			done, err := stack.Invalidate(ctx, p, by, args[0], strings.Join(args[1:], " "))
			return done.Target, render.InvalidatedShort(done), err
		},
	})
	cmd.ValidArgsFunction = a.FrameArgs
	return cmd
}
