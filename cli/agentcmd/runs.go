package agentcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/abroad"
	"flame/agents/record"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/render"
)

func newRuns(a *app.App) *cobra.Command {
	var running, elsewhere bool
	cmd := &cobra.Command{
		Use: "runs [ID]", Short: "List the agents that were started, or those below one",
		Example: "  flame agents runs --running", Args: flags.Takes(0, 1),
	}
	cmd.Flags().BoolVar(&running, "running", false, "only running agents")
	cmd.Flags().BoolVar(&elsewhere, "elsewhere", false, "those of the project's other machines, as they told last")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		others, err := agents.Abroad(ctx, s.Project)
		if err != nil {
			return err
		}
		if elsewhere {
			return a.Out.Print(append([]abroad.Agent{}, others...), render.AgentsAbroad(others, s.Project.Now(), a.Out.Width()))
		}
		runs, err := s.Below(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		which := "all"
		if running {
			which = "running"
		}
		return a.Out.Print(append([]record.Run{}, record.Filter(runs, which)...),
			render.AgentsTable(runs, which, s.Project.Now(), a.Out.Width())+render.AtWorkAbroad(others))
	})
}
