package cli

import (
	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/core"
	"flame/project"
)

// frameFlag defines the flag --frame and completes it.
func (a *App) frameFlag(cmd *cobra.Command, id *string, meaning string) {
	cmd.Flags().Var(flags.NotBlank{Name: id, Of: "FRAME"}, "frame", meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc("frame", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.frameArgs(cmd, nil, prefix)
	})
}

// frameArgs offers frame ids for the first argument, with their goals.
func (a *App) frameArgs(cmd *cobra.Command, args []string, prefix string) (offers []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.with(cmd.Context(), func(p *project.Project) error {
		frames, err := p.Complete(cmd.Context(), prefix, 50)
		for _, f := range frames {
			offers = append(offers, cobra.CompletionWithDesc(core.OneLine(f.ID, 0), core.OneLine(f.Goal, 40)))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}
