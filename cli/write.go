package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/render"
)

// A writing command changes one frame.
type writing struct {
	use, short, example string
	args                cobra.PositionalArgs
	frame               bool // takes --frame
	run                 func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error)
	flags               func(cmd *cobra.Command, given *writeFlags)
}

// writeFlags are the flags of writing commands; each command offers some.
type writeFlags struct {
	frame, criteria, results string
	force, generate          bool
}

func (a *App) writes(w writing) *cobra.Command {
	var given writeFlags
	cmd := &cobra.Command{
		Use: w.use, Short: w.short, Example: "  " + w.example, Args: w.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(p *project.Project) error {
				frame, text, err := w.run(cmd.Context(), p, a.caller(), args, &given)
				if err != nil {
					return err
				}
				return a.out.Frame(frame, text)
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	if w.frame {
		a.frameFlag(cmd, &given.frame, "the frame (default: the current one)")
	}
	if w.flags != nil {
		w.flags(cmd, &given)
	}
	return cmd
}

func criteriaFlag(cmd *cobra.Command, given *writeFlags) {
	cmd.Flags().StringVar(&given.criteria, "criteria", "", "what done means")
}

func newPush(a *App) *cobra.Command {
	return a.writes(writing{
		use: "push GOAL", short: "Start a frame below the current one", example: `flame push "Fix the login"`,
		args: flags.Takes(1, -1), flags: criteriaFlag,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, err := p.Push(ctx, by, strings.Join(args, " "), given.criteria)
			return frame, fmt.Sprintf("%s started: %s", frame.ID, render.Short(frame.Goal)), err
		},
	})
}

func newPop(a *App) *cobra.Command {
	cmd := a.writes(writing{
		use: "pop completed|failed|blocked [SUMMARY]", short: "End the current frame", example: `flame pop completed "Login works; sessions expire after 30 min"`,
		args: cobra.MatchAll(flags.Takes(1, -1), canEnd), frame: true,
		flags: func(cmd *cobra.Command, given *writeFlags) {
			cmd.Flags().StringVar(&given.results, "results", "", "the full outcome, read on demand")
			cmd.Flags().BoolVar(&given.force, "force", false, "even with children in progress")
			cmd.Flags().BoolVar(&given.generate, "generate-summary", false, "wait for the summary of the next compaction")
		},
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			popped, err := p.Pop(ctx, by, project.PopArgs{
				Frame: given.frame, Status: core.Status(args[0]), Summary: strings.Join(args[1:], " "),
				Results: given.results, Force: given.force, GenerateSummary: given.generate,
			})
			text := fmt.Sprintf("%s is %s", popped.Frame.ID, popped.Frame.Status)
			if popped.Pending != nil {
				text = popped.Frame.ID + " waits for a summary"
			}
			for _, f := range popped.Planned {
				text += "\nstill planned: " + render.ShortFrame(f)
			}
			for _, f := range popped.Open {
				text += "\nstill in progress: " + render.ShortFrame(f)
			}
			return popped.Frame, text, err
		},
	})
	cmd.ValidArgs, cmd.ValidArgsFunction = []cobra.Completion{"completed", "failed", "blocked"}, nil
	return cmd
}

// canEnd checks that the first argument is a status that ends a frame.
func canEnd(cmd *cobra.Command, args []string) error {
	if !core.Status(args[0]).Ended() {
		return flags.Wrong(cmd, "a frame ends as completed, failed or blocked, not %q", args[0])
	}
	return nil
}

// newPlan differs from the other writing commands in making several frames.
func newPlan(a *App) *cobra.Command {
	var frame, criteria string
	cmd := &cobra.Command{
		Use: "plan GOAL…", Short: "Plan frames below the current one, in order", Example: `  flame plan "Design the API" "Write it" "Test it"`,
		Args: flags.Takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			children := make([]project.PlannedChild, len(args))
			for i, goal := range args {
				children[i] = project.PlannedChild{Goal: goal, SuccessCriteria: criteria}
			}
			return a.with(cmd.Context(), func(p *project.Project) error {
				_, planned, err := p.Plan(cmd.Context(), a.caller(), frame, children)
				if err != nil {
					return err
				}
				return a.out.Frames(planned, render.ShortFrames(planned))
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.frameFlag(cmd, &frame, "plan below this frame (default: the current one)")
	cmd.Flags().StringVar(&criteria, "criteria", "", "what done means, for each")
	return cmd
}

func newActivate(a *App) *cobra.Command {
	cmd := a.writes(writing{
		use: "activate FRAME", short: "Take up a planned, blocked or finished frame", example: "flame activate plan-k3x9",
		args: flags.Takes(1, 1),
		flags: func(cmd *cobra.Command, given *writeFlags) {
			cmd.Flags().BoolVar(&given.force, "force", false, "take it from a session that is gone")
		},
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			done, err := p.Activate(ctx, by, args[0], given.force)
			text := fmt.Sprintf("%s: %s -> %s", done.Frame.ID, done.From, done.Frame.Status)
			if done.Under != "" {
				text += "\n" + render.UnderEnded(done)
			}
			return done.Frame, text, err
		},
	})
	cmd.ValidArgsFunction = a.frameArgs
	return cmd
}

func newInvalidate(a *App) *cobra.Command {
	cmd := a.writes(writing{
		use: "invalidate FRAME REASON", short: "Mark a frame, and what is planned below it, as no longer valid", example: `flame invalidate frame-k3x9 "The API changed"`,
		args: flags.Takes(2, -1),
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, _ *writeFlags) (core.Frame, string, error) {
			done, err := p.Invalidate(ctx, by, args[0], strings.Join(args[1:], " "))
			text := done.Target.ID + " is invalidated" + tallied("invalidated with it", done.Planned) + tallied("still in progress", done.InProgress)
			return done.Target, text, err
		},
	})
	cmd.ValidArgsFunction = a.frameArgs
	return cmd
}

// tallied returns the frames of a tally one a line, and the number of the others.
func tallied(what string, t project.Tally) (text string) {
	for _, f := range t.First {
		text += "\n" + what + ": " + render.ShortFrame(f)
	}
	if more := t.Count - len(t.First); more > 0 {
		text += fmt.Sprintf("\n%s: and %d more", what, more)
	}
	return text
}

func newGoal(a *App) *cobra.Command {
	return a.writes(writing{
		use: "goal TEXT", short: "Change what a frame is for", example: `flame goal "Fix login and logout"`,
		args: flags.Takes(1, -1), frame: true,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, err := p.SetGoal(ctx, by, given.frame, strings.Join(args, " "))
			return frame, render.ShortFrame(frame), err
		},
	})
}

func newArtifact(a *App) *cobra.Command {
	return a.writes(writing{
		use: "artifact TEXT", short: "Record what a frame produced", example: "flame artifact src/login.go",
		args: flags.Takes(1, -1), frame: true,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, added, err := p.AddArtifact(ctx, by, given.frame, strings.Join(args, " "))
			return frame, recorded(frame, "artifact", added), err
		},
	})
}

func newDecision(a *App) *cobra.Command {
	return a.writes(writing{
		use: "decision TEXT", short: "Record a decision with its reason", example: `flame decision "Cookies, not tokens: the proxy strips headers"`,
		args: flags.Takes(1, -1), frame: true,
		run: func(ctx context.Context, p *project.Project, by project.Caller, args []string, given *writeFlags) (core.Frame, string, error) {
			frame, added, err := p.AddDecision(ctx, by, given.frame, strings.Join(args, " "))
			return frame, recorded(frame, "decision", added), err
		},
	})
}

func recorded(frame core.Frame, what string, added bool) string {
	if !added {
		return fmt.Sprintf("%s has this %s already", frame.ID, what)
	}
	return fmt.Sprintf("%s: %s recorded", frame.ID, what)
}
