package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/stack"
	"flame/render"
)

// newPlan differs from the other writing commands in that it makes several
// frames.
func newPlan(a *app.App) *cobra.Command {
	var frame, criteria string
	cmd := &cobra.Command{
		Use: "plan GOAL…", Short: "Plan frames below the current one, in order", Example: `  flame plan "Design the API" "Write it" "Test it"`,
		Long: "Plan frames below the current one, in order. A goal that is planned or in progress there\nalready is not planned again.",
		Args: flags.Takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			children := make([]stack.PlannedChild, len(args))
			for i, goal := range args {
				children[i] = stack.PlannedChild{Goal: goal, SuccessCriteria: criteria}
			}
			return a.With(cmd.Context(), func(p *project.Project) error {
				plan, err := stack.Plan(cmd.Context(), p, a.Caller(), frame, children)
				if err != nil {
					return err
				}
				if len(plan.There) > 0 {
					a.Note(render.Count(len(plan.There), "frame") + " planned or in progress there already: " + strings.Join(plan.There[:min(len(plan.There), 5)], ", "))
				}
				return a.Out.Frames(plan.Frames, render.ShortFrames(plan.Frames))
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.FrameFlag(cmd, &frame, "plan below this frame (default: the current one)")
	cmd.Flags().StringVar(&criteria, "criteria", "", "what done means, for each")
	return cmd
}
