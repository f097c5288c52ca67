package agentcmd

import (
	"context"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/graph"
	"flame/cli/app"
	"flame/cli/flags"
)

func newGraph(a *app.App) *cobra.Command {
	format := "tree"
	cmd := &cobra.Command{
		Use: "graph", Short: "Draw the agents that were started: by whom, and what their results were used for",
		Example: "  flame agents graph --format mermaid", Args: flags.Takes(0, 0),
	}
	flags.Choose(cmd, &format, "format", "output format", graph.Formats()...)
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		g, err := s.Graph(ctx)
		if err != nil {
			return err
		}
		if a.Out.JSON {
			format = "json"
		}
		return graph.Draw(a.Stdout, g, format)
	})
}
