package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/project"
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
	decisions, artifacts     []string
	next                     string
}

func writes(a *app.App, w writing) *cobra.Command {
	var given writeFlags
	cmd := &cobra.Command{
		Use: w.use, Short: w.short, Example: "  " + w.example, Args: w.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), func(p *project.Project) error {
				frame, text, err := w.run(cmd.Context(), p, a.Caller(), args, &given)
				if err != nil {
					return err
				}
				return a.Out.Frame(frame, text)
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	if w.frame {
		a.FrameFlag(cmd, &given.frame, "the frame (default: the current one)")
	}
	if w.flags != nil {
		w.flags(cmd, &given)
	}
	return cmd
}

func criteriaFlag(cmd *cobra.Command, given *writeFlags) {
	cmd.Flags().StringVar(&given.criteria, "criteria", "", "what done means")
}
