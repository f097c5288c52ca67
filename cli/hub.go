package cli

import (
	"slices"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
)

// hubStarters are the commands that start flame-hub, which does them.
func hubStarters() []app.Entry {
	return lo.Map([]string{"hub", "join", "leave", "worker"}, func(name string, _ int) app.Entry {
		return app.Entry{Name: name, Make: func(a *app.App) *cobra.Command {
			cmd := app.HubCommand(name)
			cmd.Args, cmd.DisableFlagParsing = cobra.ArbitraryArgs, true
			cmd.PersistentPreRun = func(*cobra.Command, []string) {} // flame-hub gives the warnings
			cmd.RunE = func(_ *cobra.Command, args []string) error { return a.StartHub(append([]string{name}, args...)) }
			cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
				_ = a.StartHub(slices.Concat([]string{cobra.ShellCompRequestCmd, name}, args, []string{prefix})) // without it, nothing is proposed
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cmd
		}}
	})
}
