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

func newGoal(a *app.App) *cobra.Command {
	return writes(a, writing{
		use: "goal TEXT", short: "Change what a frame is for, or with --criteria what done means", example: `flame goal "Fix login and logout"`,
		args: takesGoal, frame: true, flags: criteriaFlag,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, err := stack.SetGoal(ctx, p, by, given.frame, strings.Join(args, " "), given.criteria)
			return frame, render.ShortFrame(frame), err
		},
	})
}

// takesGoal lets the goal be left out where only the criteria change.
func takesGoal(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("criteria") && len(args) == 0 {
		return nil
	}
	return flags.Takes(1, -1)(cmd, args)
}

func newArtifact(a *app.App) *cobra.Command {
	return writes(a, writing{
		use: "artifact TEXT", short: "Record what a frame produced", example: "flame artifact src/login.go",
		args: flags.Takes(1, -1), frame: true,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, added, err := stack.AddArtifact(ctx, p, by, given.frame, strings.Join(args, " "))
			return frame, render.RecordedShort(frame, "artifact", added), err
		},
	})
}

func newDecision(a *app.App) *cobra.Command {
	return writes(a, writing{
		use: "decision TEXT", short: "Record a decision with its reason", example: `flame decision "Cookies, not tokens: the proxy strips headers"`,
		args: flags.Takes(1, -1), frame: true,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, added, err := stack.AddDecision(ctx, p, by, given.frame, strings.Join(args, " "))
			return frame, render.RecordedShort(frame, "decision", added), err
		},
	})
}
