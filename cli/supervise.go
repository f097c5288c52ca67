package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/project"
)

func newSupervise(a *App) *cobra.Command {
	var detach bool
	cmd := &cobra.Command{
		Use: "supervise DIR", Short: "Run one agent to its end, as flame does for itself", Example: "  flame supervise .flame/agents/agent-k3x9a1b2", Hidden: true, Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if detach {
				return a.detach(dir)
			}
			return a.supervise(cmd.Context(), dir)
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "start it in a session of its own and print its process")
	return cmd
}

func (a *App) detach(dir string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := supervise.Detach(program, dir)
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

func (a *App) supervise(ctx context.Context, dir string) error {
	job, _, err := supervise.LoadJob(dir)
	if err != nil {
		return err
	}
	// The data are those that the agent was asked for in, wherever this runs.
	place := project.At(job.Project)
	place.Data = filepath.Dir(filepath.Dir(dir))
	// One signal cancels the agent; what must be done then, no other interrupts, and no
	// lack of time.
	a.takeTime()
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	return a.withAgents(place, true, func(s *agents.Agents) error {
		return s.Supervise(ctx, dir, slog.New(slog.NewJSONHandler(a.Stderr, nil)))
	})
}
