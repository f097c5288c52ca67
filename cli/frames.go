package cli

import (
	"context"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render"
)

func newPush(a *app.App) *cobra.Command {
	var criteria string
	cmd := &cobra.Command{
		Use: "push GOAL", Short: "Start a frame below the current one", Example: `  flame push "Fix the login"`, Args: app.CheckArgs(1, -1),
	}
	cmd.Flags().StringVar(&criteria, "criteria", "", "success criteria: when the frame is done")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		frame, err := stack.Push(ctx, p, a.Caller(), strings.Join(args, " "), criteria)
		return a.Answer(frame, frame.ID+" started: "+render.Short(frame.Goal), err)
	})
}

func newPop(a *app.App) *cobra.Command {
	var pop stack.PopArgs
	cmd := &cobra.Command{
		Use: "pop completed|failed|blocked [SUMMARY]", Short: "End the current frame",
		Example:   `  flame pop completed "Login works; sessions expire after 30 min" --next "Add a logout"`,
		ValidArgs: []cobra.Completion{"completed", "failed", "blocked"},
		Args: cobra.MatchAll(app.CheckArgs(1, -1), func(cmd *cobra.Command, args []string) error {
			if pop.Status = core.Status(args[0]); !pop.Status.Ended() {
				return app.NewUsageError(cmd, "a frame ends as completed, failed or blocked, not %q", args[0])
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&pop.Results, "results", "", "the full outcome, which agents read on demand")
	cmd.Flags().BoolVar(&pop.Force, "force", false, "end it even if children are in progress")
	cmd.Flags().BoolVar(&pop.GenerateSummary, "generate-summary", false, "wait for the summary of the next compaction")
	frameFlag(a, cmd, &pop.Frame)
	cmd.Flags().StringArrayVar(&pop.Decisions, "decision", nil, "record this `TEXT` as one of its decisions (repeatable)")
	cmd.Flags().StringArrayVar(&pop.Artifacts, "artifact", nil, "record this `TEXT` as one of its artifacts (repeatable)")
	app.NameFlag(cmd, &pop.Next, "next", "FRAME|GOAL", "then activate this planned frame, or start a frame for this goal")
	a.CompleteFrames(cmd, "next")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		pop.Summary = strings.Join(args[1:], " ")
		popped, err := stack.Pop(ctx, p, a.Caller(), pop)
		return a.Answer(popped.Frame, render.ShortPop(popped), err)
	})
}

func frameFlag(a *app.App, cmd *cobra.Command, id *string) {
	a.FrameFlag(cmd, id, "the frame (default: the current one)")
}

func newPlan(a *app.App) *cobra.Command {
	var frame, criteria string
	cmd := &cobra.Command{
		Use: "plan GOAL…", Short: "Plan frames below the current one, in order", Example: `  flame plan "Design the API" "Write it" "Test it"`,
		Long: "Plan frames below the current one, in order. Flame skips a goal that is already planned or\nin progress there.",
		Args: app.CheckArgs(1, -1),
	}
	a.FrameFlag(cmd, &frame, "plan below this frame (default: the current one)")
	cmd.Flags().StringVar(&criteria, "criteria", "", "success criteria of each frame")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		plan, err := stack.Plan(ctx, p, a.Caller(), frame, lo.Map(args, func(goal string, _ int) stack.PlannedChild {
			return stack.PlannedChild{Goal: goal, SuccessCriteria: criteria}
		}))
		if err == nil && len(plan.Existing) > 0 {
			a.PrintNote(render.Count(len(plan.Existing), "frame") + " planned or in progress there already")
		}
		return a.Answer(plan.Frames, render.ShortFrames(plan.Frames), err)
	})
}

func newActivate(a *app.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "activate FRAME", Short: "Start a planned, blocked or finished frame", Example: "  flame activate plan-k3x9",
		Args: app.CheckArgs(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it from a session that is gone")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := stack.Activate(ctx, p, a.Caller(), args[0], force)
		return a.Answer(done.Frame, render.ActivatedShort(done), err)
	})
}

func newInvalidate(a *app.App) *cobra.Command {
	return a.NeedsProject(&cobra.Command{
		Use: "invalidate FRAME REASON", Short: "Mark a frame and the planned frames below it as no longer valid",
		Example: `  flame invalidate frame-k3x9 "The API changed"`, Args: app.CheckArgs(2, -1), ValidArgsFunction: a.FrameArgs,
	}, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := stack.Invalidate(ctx, p, a.Caller(), args[0], strings.Join(args[1:], " "))
		return a.Answer(done.Target, render.InvalidatedShort(done), err)
	})
}

func newGoal(a *app.App) *cobra.Command {
	var frame, criteria string
	cmd := &cobra.Command{
		Use: "goal TEXT", Short: "Change the goal of a frame, or its success criteria", Example: `  flame goal "Fix login and logout"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("criteria") && len(args) == 0 {
				return nil // only the criteria change
			}
			return app.CheckArgs(1, -1)(cmd, args)
		},
	}
	frameFlag(a, cmd, &frame)
	cmd.Flags().StringVar(&criteria, "criteria", "", "success criteria: when the frame is done")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		changed, err := stack.SetGoal(ctx, p, a.Caller(), frame, strings.Join(args, " "), criteria)
		return a.Answer(changed, render.ShortFrame(changed), err)
	})
}

func newArtifact(a *app.App) *cobra.Command {
	return records(a, "artifact", "Record what a frame produced", "flame artifact src/login.go", stack.AddArtifact)
}

func newDecision(a *app.App) *cobra.Command {
	example := `flame decision "Cookies, not tokens: the proxy strips headers"`
	return records(a, "decision", "Record a decision with its reason", example, stack.AddDecision)
}

// records makes a command that adds a line to a frame.
func records(
	a *app.App, name, short, example string,
	add func(ctx context.Context, p *project.Project, by project.Caller, frame, text string) (core.Frame, bool, error),
) *cobra.Command {
	var frame string
	cmd := &cobra.Command{Use: name + " TEXT", Short: short, Example: "  " + example, Args: app.CheckArgs(1, -1)}
	frameFlag(a, cmd, &frame)
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		changed, added, err := add(ctx, p, a.Caller(), frame, strings.Join(args, " "))
		return a.Answer(changed, render.RecordedShort(changed, name, added), err)
	})
}
