package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/demo"
	"flame/cli/flags"
)

func newDemo(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Watch an agent do a piece of work in frames, in a temporary project", Example: "  flame demo", Args: flags.Takes(0, 0),
		Long: "Play a short piece of work through a real MCP client and the real server in a\n" +
			"temporary project, and print what the agent called, what it got, and the resulting\n" +
			"tree. Nothing of yours is touched.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := demo.Play(cmd.Context(), a.Stdout, a.Hosts.SessionVariables()); err != nil {
				return err
			}
			_, err := fmt.Fprintln(a.Stdout, "This was a temporary project. `flame setup` gives the same tools to "+a.Hosts.Titles("and")+".")
			return err
		},
	}
}
