package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/flags"
	"flame/render"
)

func newAgentsRuns(a *App) *cobra.Command {
	var running bool
	cmd := &cobra.Command{
		Use: "runs [ID]", Short: "List the agents that were started, or those below one",
		Example: "  flame agents runs --running", Args: flags.Takes(0, 1),
	}
	cmd.Flags().BoolVar(&running, "running", false, "only those that run")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		runs, err := s.Below(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		which := "all"
		if running {
			which = "running"
		}
		shown := agents.Filter(runs, which)
		if len(shown) == 0 {
			return a.out.Print([]agents.Run{}, render.NoAgents(runs, which))
		}
		return a.out.Print(shown, render.AgentsTable(shown, s.Project.Now()))
	})
}
