package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
)

func newSupervise(a *App) *cobra.Command {
	var detach bool
	cmd := &cobra.Command{
		Use: "supervise AGENT", Short: "Run one agent to its end, as flame does for itself", Example: "  flame supervise agent-k3x9a1b2", Hidden: true, Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := a.place()
			if err != nil {
				return err
			}
			return a.withAgents(at, !detach, func(s *agents.Agents) error {
				if detach {
					return a.detach(s, args[0])
				}
				return supervised(cmd.Context(), s, args[0], slog.New(slog.NewJSONHandler(a.Stderr, nil)))
			})
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "start it in a session of its own and print its process")
	return cmd
}

// detach starts the supervisor of an agent, which looks for itself whether there is
// such an agent.
func (a *App) detach(s *agents.Agents, id string) error {
	process, err := supervise.Detach(s.Seat(id, s.Dir))
	if err != nil {
		return err
	}
	raw, err := json.Marshal(process)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, string(raw))
	return err
}

func supervised(ctx context.Context, s *agents.Agents, id string, log *slog.Logger) error {
	// One signal cancels the agent; what must be done then, no other interrupts.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	return s.Supervise(ctx, id, log)
}
