package agentcmd

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/abroad"
	"flame/agents/record"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/config/env"
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

func newShared(a *app.App) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "shared prompts|patches|logs ID", Short: "Print what another machine shares of an agent that has ended",
		Long: "Print what another machine of the project shares of an agent that has ended, as " + env.Share + " says there.\n" +
			"ID is that of the agent, or of its frame. It is kept on the hub for a week.",
		Example: "  flame agents shared patches frame-x7k2m9q1", Args: flags.Takes(2, 2), ValidArgs: abroad.Kinds,
	}
	cmd.Flags().StringVar(&to, "to", "", "a file to write it to as it is, such as a patch for git apply")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		text, err := agents.Shared(ctx, s, args[1], args[0])
		if err == nil && to != "" {
			return os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			return err
		}
		return a.Out.Print(map[string]string{"id": args[1], "what": args[0], "text": string(text)}, string(text))
	})
}
