package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render"
)

func newPush(a *app.App) *cobra.Command {
	return writes(a, writing{
		use: "push GOAL", short: "Start a frame below the current one", example: `flame push "Fix the login"`,
		args: flags.Takes(1, -1), flags: criteriaFlag,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, err := stack.Push(ctx, p, by, strings.Join(args, " "), given.criteria)
			return frame, fmt.Sprintf("%s started: %s", frame.ID, render.Short(frame.Goal)), err
		},
	})
}
