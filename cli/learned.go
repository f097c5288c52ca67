package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/config/env"
	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/render"
)

func newLearned(a *app.App) *cobra.Command {
	var history, forget, yes bool
	cmd := &cobra.Command{
		Use: "learned", Short: "Show what this project teaches about suggestions and subagents", Args: flags.Takes(0, 0),
		Example: "  flame learned\n  flame learned --history\n  flame learned --forget",
		Long: "Show what became of suggestions and of subagents' frames, and what follows for the\n" +
			"thresholds of pushes and pops and for the titles of subagents, each with its evidence\n" +
			"and its rule. " + env.Learn + " says whether that is proposed or in force. --forget drops all\n" +
			"that was counted, and with it what follows.",
	}
	cmd.Flags().BoolVar(&history, "history", false, "show the last suggestions, when they were shown and what became of them")
	cmd.Flags().BoolVar(&forget, "forget", false, "forget what was counted")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --forget: do not ask")
	cmd.MarkFlagsMutuallyExclusive("history", "forget")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		switch {
		case forget:
			return forgetLearned(ctx, a, p, yes)
		case yes:
			return flags.Wrong(cmd, "--yes needs --forget")
		case history:
			state, err := autonomy.StateOf(ctx, p, a.Caller())
			if err != nil {
				return err
			}
			return a.Out.Print(append([]core.Suggestion{}, state.History...), render.History(state.History, len(state.History), p.Now()))
		}
		lessons, err := autonomy.Learned(ctx, p)
		if err != nil {
			return err
		}
		return a.Out.Print(lessons, render.Learned(lessons))
	})
}

// forgetLearned forgets what was counted, once a person agrees.
func forgetLearned(ctx context.Context, a *app.App, p *project.Project, yes bool) error {
	if !yes {
		if !a.AtTerminal() {
			return core.Invalidf("this forgets what was learned for good").WithHint("run it in a terminal, or with --yes")
		}
		if err := a.Confirm("forget", "forget what was learned in this project"); err != nil {
			return err
		}
	}
	if err := autonomy.ForgetLearned(ctx, p); err != nil {
		return err
	}
	return a.Out.Print(map[string]bool{"forgotten": true}, "What was learned is forgotten.")
}
