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

func newPop(a *app.App) *cobra.Command {
	last := lastFlags(a)
	cmd := writes(a, writing{
		use: "pop completed|failed|blocked [SUMMARY]", short: "End the current frame",
		example: `flame pop completed "Login works; sessions expire after 30 min" --next "Add a logout"`,
		args:    cobra.MatchAll(flags.Takes(1, -1), canEnd), frame: true,
		flags: func(cmd *cobra.Command, given *writeFlags) {
			last(cmd, given)
			cmd.Flags().StringVar(&given.results, "results", "", "the full outcome, read on demand")
			cmd.Flags().BoolVar(&given.force, "force", false, "even with children in progress")
			cmd.Flags().BoolVar(&given.generate, "generate-summary", false, "wait for the summary of the next compaction")
		},
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			return pop(ctx, p, by, core.Status(args[0]), args[1:], given)
		},
	})
	cmd.ValidArgs, cmd.ValidArgsFunction = []cobra.Completion{"completed", "failed", "blocked"}, nil
	return cmd
}

func newDone(a *app.App) *cobra.Command {
	return writes(a, writing{
		use: "done [SUMMARY]", short: "Complete the current frame: pop completed", example: `flame done "Login works; sessions expire after 30 min"`,
		args: flags.Takes(0, -1), frame: true, flags: lastFlags(a),
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			return pop(ctx, p, by, core.Completed, args, given)
		},
	})
}

// lastFlags returns a function that adds the flags for what can be said of a frame as it
// ends.
func lastFlags(a *app.App) func(cmd *cobra.Command, given *writeFlags) {
	return func(cmd *cobra.Command, given *writeFlags) {
		cmd.Flags().StringArrayVar(&given.decisions, "decision", nil, "record this `TEXT` as a decision of it; may be repeated")
		cmd.Flags().StringArrayVar(&given.artifacts, "artifact", nil, "record this `TEXT` as something it produced; may be repeated")
		cmd.Flags().Var(flags.NotBlank{Name: &given.next, Of: "FRAME|GOAL"}, "next", "then take up this planned frame, or start a frame for this goal")
		// The error is for an unknown flag, which this one is not.
		_ = cmd.RegisterFlagCompletionFunc("next", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return a.FrameArgs(cmd, nil, prefix)
		})
	}
}

// pop ends a frame; the words are its summary.
func pop(
	ctx context.Context, p *project.Project, by project.Caller, to core.Status, summary []string, given *writeFlags,
) (core.Frame, string, error) {
	popped, err := stack.Pop(ctx, p, by, stack.PopArgs{
		Frame: given.frame, Status: to, Summary: strings.Join(summary, " "), Results: given.results, Force: given.force,
		GenerateSummary: given.generate, Decisions: given.decisions, Artifacts: given.artifacts, Next: given.next,
	})
	return popped.Frame, render.PoppedShort(popped), err
}

// canEnd checks that the first argument is a status that ends a frame.
func canEnd(cmd *cobra.Command, args []string) error {
	if !core.Status(args[0]).Ended() {
		return flags.Wrong(cmd, "a frame ends as completed, failed or blocked, not %q", args[0])
	}
	return nil
}
