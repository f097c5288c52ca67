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
			var calls []demo.Call
			err := demo.Play(cmd.Context(), a.Hosts.SessionVariables(), func(call demo.Call) error {
				calls = append(calls, call)
				if a.Out.JSON {
					return nil
				}
				_, err := fmt.Fprintln(a.Stdout, call)
				return err
			})
			if err != nil {
				return err
			}
			return a.Out.Print(calls, "This was a temporary project. `flame setup` gives the same tools to "+a.Hosts.Titles("and")+".")
		},
	}
}
