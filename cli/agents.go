package cli

import (
	"github.com/spf13/cobra"

	"flame/agents/definition"
	"flame/cli/flags"
	"flame/hosts"
)

func newAgents(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "Start agents, follow them, and look at the available ones", Example: "  flame agents spawn tester \"run the tests\"",
		Args: flags.NoSuchCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newAgentsSpawn(a), newAgentsRuns(a), newAgentsStatus(a), newAgentsWait(a), newAgentsResult(a), newAgentsCancel(a), newAgentsPrune(a),
		newAgentsHandoff(a), newAgentsConverge(a), newAgentsReview(a), newAgentsAttach(a), newAgentsGraph(a),
		newAgentsList(a), newAgentsShow(a), newAgentsDoctor(a),
		newAgentsGrant(a), newAgentsGrants(a), newAgentsRevoke(a),
	)
	return cmd
}

// catalog reads the definitions that apply in this project.
func (a *App) catalog() (definition.Catalog, error) {
	at, err := a.place()
	if err != nil {
		return definition.Catalog{}, err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no definitions of the user's
	return definition.Load(a.Hosts, definition.Dirs(a.Hosts, machine)), nil
}

// asksCatalog sets up a command that reads the definitions and prints an
// answer.
func (a *App) asksCatalog(cmd *cobra.Command, run func(c definition.Catalog, args []string) error) *cobra.Command {
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		catalog, err := a.catalog()
		if err != nil {
			return err
		}
		return run(catalog, args)
	}
	return cmd
}
