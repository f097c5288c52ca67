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
		Use: "graph", Short: "Draw agents and subagents: who started them, and what their results were used for",
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
		if format == "tree" && len(g.Nodes()) == 0 {
			return a.Out.Print(nil, "No agents or subagents yet; `flame agents spawn` starts an agent.\n")
		}
		return graph.Draw(a.Stdout, g, format)
	})
}
