package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/cli/app"
	"flame/core/op"
	"flame/local/place"
	"flame/project"
	"flame/tools"
)

func newCall(a *app.App) *cobra.Command {
	return a.NeedsAgents(&cobra.Command{
		Use: "call TOOL [JSON]", Short: "Call any tool as an agent would", Example: `  flame call ` + string(op.Push) + ` '{"goal": "Fix the login"}'`,
		Args: app.CheckArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				names = lo.Map(tools.All(&project.Project{}, &agents.Agents{}), func(t tools.Tool, _ int) cobra.Completion {
					return cobra.CompletionWithDesc(t.Name, t.Description)
				})
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}, func(ctx context.Context, s *agents.Agents, args []string) error {
		tool, err := tools.Find(toolsOf(ctx, s), args[0])
		if err != nil {
			return err
		}
		input := json.RawMessage(append(args, "{}")[1]) // {} unless it is given
		result, err := tool.Call(ctx, a.Caller(), input)
		switch {
		case err == nil && result.Structured != nil:
			return a.Out.Raw([]byte(result.Text))
		case err == nil:
			return a.Out.Print(called{Text: result.Text}, result.Text)
		}
		text, known := tools.Advice(err)
		if !known {
			return err
		}
		return errors.Join(app.ErrSilent, a.Out.Print(called{text, true}, text))
	})
}

// A called is the outcome of a call, as --json prints it: the text that a model would get.
type called struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"` // with status 1
}

func newSupervise(a *app.App) *cobra.Command {
	var detach, keep bool
	cmd := &cobra.Command{
		Use: "supervise AGENT", Short: "Run one agent to its end (flame starts this command itself)",
		Example: "  flame supervise agent-k3x9a1b2", Hidden: true, Args: app.CheckArgs(1, 1),
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "start the supervisor in its own session and print its process")
	cmd.Flags().BoolVar(&keep, "keep", false, "start the supervisor, and end processes that it leaves behind")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, args []string) error {
		return a.At(at, !detach && !keep, func(p *project.Project) error {
			s := a.Agents(p, at)
			switch seat := s.Seat(args[0], s.Dir); {
			case detach: // the supervisor itself checks whether the agent exists
				process, err := supervise.Detach(seat)
				if err != nil {
					return err
				}
				return json.NewEncoder(a.Stdout).Encode(process)
			case keep:
				return supervise.Keep(seat)
			}
			// One signal cancels the agent. Neither further signals nor endTime interrupt
			// the cleanup.
			a.TakeTime()
			ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			defer stop()
			return s.Supervise(ctx, args[0], slog.New(slog.NewJSONHandler(a.Stderr, nil)))
		})
	})
}
