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
	"flame/cli/app"
	"flame/cli/flags"
)

func newSupervise(a *app.App) *cobra.Command {
	var detach, keep bool
	cmd := &cobra.Command{
		Use: "supervise AGENT", Short: "Run one agent to its end, as flame does for itself",
		Example: "  flame supervise agent-k3x9a1b2", Hidden: true, Args: flags.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := a.Place()
			if err != nil {
				return err
			}
			return a.WithAgents(at, !detach && !keep, func(s *agents.Agents) error {
				switch seat := s.Seat(args[0], s.Dir); {
				case detach:
					return supervision{a}.detach(seat)
				case keep:
					return supervise.Keep(seat)
				}
				return supervision{a}.supervised(cmd.Context(), s, args[0], slog.New(slog.NewJSONHandler(a.Stderr, nil)))
			})
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "start it in a session of its own and print its process")
	cmd.Flags().BoolVar(&keep, "keep", false, "start it, and end what it leaves")
	return cmd
}

// A supervision is a process that supervises an agent.
type supervision struct{ app *app.App }

// detach starts the supervisor of an agent, which checks itself whether the
// agent exists.
func (c supervision) detach(seat supervise.Seat) error {
	process, err := supervise.Detach(seat)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(process)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.app.Stdout, string(raw))
	return err
}

func (c supervision) supervised(ctx context.Context, s *agents.Agents, id string, log *slog.Logger) error {
	// One signal cancels the agent; no other interrupts the cleanup, nor does
	// lack of time.
	c.app.TakeTime()
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	return s.Supervise(ctx, id, log)
}
