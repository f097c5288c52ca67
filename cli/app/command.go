package app

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/view"
)

// ErrSilent ends with status 1 after a command has printed what is wrong.
var ErrSilent = errors.New("silent")

// Reads sets up a command that opens the project, queries it and prints the
// answer.
func (a *App) Reads(cmd *cobra.Command, run func(ctx context.Context, p *project.Project, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.With(cmd.Context(), func(p *project.Project) error { return run(cmd.Context(), p, args) })
	}
	return cmd
}

// FrameFlag defines the flag --frame and completes it.
func (a *App) FrameFlag(cmd *cobra.Command, id *string, meaning string) {
	cmd.Flags().Var(flags.NotBlank{Name: id, Of: "FRAME"}, "frame", meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc("frame", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.FrameArgs(cmd, nil, prefix)
	})
}

// FrameArgs offers frame ids for the first argument, with their goals.
func (a *App) FrameArgs(cmd *cobra.Command, args []string, prefix string) (offers []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.With(cmd.Context(), func(p *project.Project) error {
		frames, err := view.Complete(cmd.Context(), p, prefix, 50)
		for _, f := range frames {
			offers = append(offers, cobra.CompletionWithDesc(core.OneLine(f.ID, 0), core.OneLine(f.Goal, 40)+f.Mark()))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// Ended is the status of a program that a command ran to its end. As an error it says
// nothing: the program has.
type Ended int

// Error names the status.
func (e Ended) Error() string { return "exit status " + strconv.Itoa(int(e)) }
