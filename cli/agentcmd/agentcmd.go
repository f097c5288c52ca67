// Package agentcmd is `flame agents`: the commands that start agents, follow them
// and look at the available ones.
package agentcmd

import (
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
)

// New returns the command with all its subcommands.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "Start agents, follow them, and look at the available ones", Example: "  flame agents spawn tester \"run the tests\"",
		Args: flags.NoSuchCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSpawn(a), newRuns(a), newStatus(a), newWait(a), newResult(a), newShared(a), newCancel(a), newPrune(a),
		newHandoff(a), newConverge(a), newReview(a), newAttach(a), newGraph(a),
		newList(a), newShow(a), newDoctor(a),
		newGrant(a), newGrants(a), newRevoke(a),
	)
	return cmd
}
