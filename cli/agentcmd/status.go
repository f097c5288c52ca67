package agentcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/record"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/render"
)

func newStatus(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "status ID", Short: "Show the progress of an agent", Example: "  flame agents status agent-k3x9a1b2", Args: flags.Takes(1, 1)}
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		run, err := s.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Out.Print(run, render.Agent(s, run))
	})
}

func newResult(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "result ID", Short: "Print the outcome of an agent", Example: "  flame agents result agent-k3x9a1b2", Args: flags.Takes(1, 1)}
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		return agentView{a}.printResult(ctx, s, args[0])
	})
}

func newWait(a *app.App) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait ID", Short: "Wait until an agent ends, and print its outcome",
		Example: "  flame agents wait agent-k3x9a1b2 --timeout 5m", Args: flags.Takes(1, 1),
	}
	flags.Lasts(cmd, &timeout, "timeout", 0, "give up waiting after this long (default: never)")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if timeout > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, timeout)
			defer stop()
		}
		return agentView{a}.awaitResult(ctx, s, args[0])
	})
}

func newCancel(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Stop an agent and everything it started",
		Example: "  flame agents cancel agent-k3x9a1b2", Args: flags.Takes(1, 1),
	}
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		stopped, err := s.Cancel(ctx, a.Caller(), args[0])
		if err != nil {
			return err
		}
		run, err := s.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return a.Out.Print(append([]record.Run{}, stopped...), render.Cancelled(run, stopped))
	})
}
