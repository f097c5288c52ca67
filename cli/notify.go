package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/notify"
)

func newNotify(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "notify PROGRAM KIND TEXT ID", Short: "Run a program of the user's, as flame does for itself",
		Example: "  flame notify /usr/bin/logger agent-ended 'It is done' agent-k3x9a1b2", Hidden: true, Args: flags.Takes(4, 4),
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			// It outlasts whoever started it, and ends by its own limit.
			a.TakeTime()
			err := notify.Run(context.WithoutCancel(cmd.Context()), args[0], args[1:], notify.Limit)
			if at, unplaced := a.Place(); err != nil && unplaced == nil {
				a.Log(at).Warn("notify", "error", err)
			}
			return err
		},
	}
}
