package agentcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/handoff"
	"flame/cli/app"
	"flame/cli/flags"
)

func newHandoff(a *app.App) *cobra.Command {
	r := handoff.Request{OnFailure: handoff.Escalate}
	cmd := &cobra.Command{
		Use: "handoff ID", Short: "Hand over to an agent until it ends",
		Example: "  flame agents handoff agent-k3x9a1b2 --on-failure retry", Args: flags.Takes(1, 1),
	}
	cmd.Flags().BoolVar(&r.Transfer, "transfer-control", false, "the session that started it changes no frames until then")
	flags.Lasts(cmd, &r.Timeout, "timeout", 10*time.Minute, "how long it may take")
	flags.Choose(cmd, &r.OnFailure, "on-failure", "what to do if it fails", r.OnFailure.Values()...)
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.ID = args[0]
		run, err := s.Handoff(ctx, a.Caller(), r)
		if err != nil {
			return err
		}
		return agentView{a}.awaitResult(ctx, s, run.ID)
	})
}
