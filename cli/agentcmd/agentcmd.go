// Package agentcmd has `flame agents`: the commands that start and follow agents, and show the
// available ones.
package agentcmd

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/cli/app"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/local/place"
	"flame/project"
	"flame/render"
)

// New returns the command with all its subcommands.
func New(a *app.App) *cobra.Command {
	c := commands{a}
	cmd := c.asks(&cobra.Command{
		Use: "agents", Short: "Show the agents at work; start agents, follow them, and look at the available ones",
		Example: "  flame agents spawn tester \"run the tests\"", Args: app.NoSuchCommand,
	}, func(ctx context.Context, s *agents.Agents, _ []string) error {
		return c.listRuns(ctx, s, "", "running", nil)
	})
	cmd.AddCommand(
		c.spawn(), c.runs(), c.status(), c.wait(), c.result(), c.cancel(),
		c.handoff(), c.converge(), c.review(), c.attach(), c.graph(),
		c.show(), c.doctor(), c.grant(),
	)
	return cmd
}

// commands makes the subcommands.
type commands struct{ app *app.App }

// asks sets up a command that works with agents. It first recovers agents whose processes were killed.
func (c commands) asks(cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return c.app.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := s.Recover(ctx); err != nil {
			s.Project.Log.Warn("agents could not be recovered", "error", err)
		}
		return run(ctx, s, args)
	})
}

// started prints a started agent; with wait, it waits and prints the outcome.
func (c commands) started(ctx context.Context, s *agents.Agents, run record.Agent, wait bool, err error) error {
	if err == nil && wait {
		return c.awaitResult(ctx, s, run.ID)
	}
	return c.answerRun(s, run, err)
}

func (c commands) answerRun(s *agents.Agents, run record.Agent, err error) error {
	return c.app.Answer(run, render.Agent(s, run), err)
}

// awaitResult waits until an agent ends and prints its outcome. Only an agent that completed is a
// success.
func (c commands) awaitResult(ctx context.Context, s *agents.Agents, id string) error {
	run, err := s.Wait(ctx, id, func(record.Agent) {})
	if err != nil || !run.State.Ended() {
		err = c.answerRun(s, run, err)
	} else {
		err = c.printResult(ctx, s, id)
	}
	if err == nil && run.State != core.AgentCompleted {
		err = app.ErrSilent
	}
	return err
}

func (c commands) printResult(ctx context.Context, s *agents.Agents, id string) error {
	r, err := s.Result(ctx, id)
	return c.app.Answer(r, render.Result(r, s.Project.Now(), 0, 0), err)
}

func (c commands) spawn() *cobra.Command {
	var r plan.Request
	var only []string
	var wait bool
	cmd := &cobra.Command{
		Use: "spawn TYPE PROMPT...", Short: "Start an agent, as " + string(op.Spawn) + " does",
		Example: `  flame agents spawn tester "run the tests of the store" --wait`, Args: app.CheckArgs(2, -1),
	}
	own := cmd.Flags()
	c.app.FrameFlag(cmd, &r.Frame, "the parent of its frame (default: the current frame)")
	own.StringVar(&r.Description, "description", "", "its task in a few words")
	app.EnumFlag(cmd, &r.Mode, "permission-mode", "its permission mode; a mode wider than the caller's needs a grant", r.Mode.Values()...)
	own.StringSliceVar(&only, "tools", nil, "allow only these tools")
	own.StringVar(&r.Model, "model", "", "the model")
	app.DurationFlag(cmd, &r.Timeout, "timeout", "", "time limit; 0: none (default: "+env.AgentTimeout+")")
	own.StringVar(&r.Cwd, "cwd", "", "its working folder (default: the project's folder)")
	app.EnumFlag(cmd, &r.Isolation, "isolation", "worktree: a git worktree of its own", r.Isolation.Values()...)
	own.StringVar(&r.On, "on", "", "run it on another machine, whose worker serves this queue")
	own.IntVar(&r.Retries, "retries", 0, "with --on: how often another worker may start it again after a worker was lost")
	own.StringVar(&r.Key, "key", "", "a second spawn with the same key returns the same agent")
	own.Int64Var(&r.BudgetTokens, "budget-tokens", 0, "token budget")
	own.Float64Var(&r.BudgetUSD, "budget-usd", 0, "cost limit in US dollars")
	own.BoolVar(&r.Bare, "no-context", false, "leave the context of its frame out of the prompt")
	own.BoolVar(&wait, "wait", false, "wait until it ends, and print its result; the exit status is 0 only if it completed")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.Type, r.Prompt = args[0], strings.Join(args[1:], " ")
		r.Unlimited = own.Changed("timeout") && r.Timeout == 0
		if own.Changed("tools") {
			r.Tools = &only
		}
		run, err := s.Spawn(ctx, c.app.Caller(), r)
		return c.started(ctx, s, run, wait, err)
	})
}

func (c commands) status() *cobra.Command {
	cmd := &cobra.Command{Use: "status ID", Short: "Show the progress of an agent", Example: "  flame agents status agent-k3x9a1b2", Args: app.CheckArgs(1, 1)}
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		run, err := s.Find(ctx, args[0])
		return c.answerRun(s, run, err)
	})
}

func (c commands) result() *cobra.Command {
	cmd := &cobra.Command{Use: "result ID", Short: "Print the outcome of an agent", Example: "  flame agents result agent-k3x9a1b2", Args: app.CheckArgs(1, 1)}
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		return c.printResult(ctx, s, args[0])
	})
}

func (c commands) wait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait ID", Short: "Wait until an agent ends, and print its outcome",
		Example: "  flame agents wait agent-k3x9a1b2 --timeout 5m", Args: app.CheckArgs(1, 1),
		Long: "Wait until an agent ends, and print its outcome. The exit status is 0 only if the agent completed.",
	}
	app.DurationFlag(cmd, &timeout, "timeout", "", "stop waiting after this time (default: never)")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if timeout > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, timeout)
			defer stop()
		}
		return c.awaitResult(ctx, s, args[0])
	})
}

func (c commands) cancel() *cobra.Command {
	return c.asks(&cobra.Command{
		Use: "cancel ID", Short: "Stop an agent and everything it started",
		Example: "  flame agents cancel agent-k3x9a1b2", Args: app.CheckArgs(1, 1),
	}, func(ctx context.Context, s *agents.Agents, args []string) error {
		stopped, err := s.Cancel(ctx, c.app.Caller(), args[0])
		if err != nil {
			return err
		}
		run, err := s.Find(ctx, args[0])
		return c.app.Answer(stopped, render.Cancelled(run, stopped), err)
	})
}

func (c commands) attach() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "attach ID [PROMPT...]", Short: "Resume an agent that has ended, at a terminal or with another prompt",
		Example: `  flame agents attach agent-k3x9a1b2 "now fix what you found" --wait`, Args: app.CheckArgs(1, -1),
		Long: "Resume an agent that has ended, in its own session. Without a prompt, flame opens the\n" +
			"host on that session, at a terminal; with a prompt, the agent works alone again.\n" +
			"ID may also be a frame or a session of a subagent that a host started: if the host\n" +
			"cannot resume it, flame starts another agent with its context.",
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it ends, and print its result; the exit status is 0 only if it completed")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 1 {
			return c.talk(ctx, s, args[0])
		}
		by := c.app.Caller()
		if c.app.Hosts.IsInHost(os.Getenv, supervise.AncestorNames()) {
			by.Trust = project.TrustInHost
		}
		run, err := s.Continue(ctx, by, args[0], strings.Join(args[1:], " "))
		return c.started(ctx, s, run, wait, err)
	})
}

// talk opens an agent's host on its session, for the person at the terminal.
func (c commands) talk(ctx context.Context, s *agents.Agents, id string) error {
	command, dir, err := s.ResumeCommand(ctx, id)
	if err != nil {
		return err
	}
	if !c.app.AtTerminal() {
		return core.Invalidf("stdin is not a terminal").WithHint("give a prompt, or run in a terminal: cd %s && %s", dir, strings.Join(command, " "))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func (c commands) handoff() *cobra.Command {
	var timeout time.Duration
	h := record.Handoff{OnFailure: record.Escalate}
	cmd := &cobra.Command{
		Use: "handoff ID", Short: "Hand the work over to an agent until it ends",
		Example: "  flame agents handoff agent-k3x9a1b2 --on-failure retry", Args: app.CheckArgs(1, 1),
	}
	cmd.Flags().BoolVar(&h.Transfer, "transfer-control", false, "until then, the session that started it cannot change frames")
	app.DurationFlag(cmd, &timeout, "timeout", "10m", "time limit")
	app.EnumFlag(cmd, &h.OnFailure, "on-failure", "what to do if it fails", h.OnFailure.Values()...)
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		h.Agent, h.Timeout = args[0], core.Millis(timeout.Milliseconds())
		run, err := s.Handoff(ctx, c.app.Caller(), h)
		return c.started(ctx, s, run, true, err)
	})
}

// NewSupervise makes `flame supervise`. Flame-hub has it too, for agents that run on other machines.
func NewSupervise(a *app.App) *cobra.Command {
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
			if run, err := s.Find(ctx, args[0]); !detach && !keep && a.StartHub != nil && err == nil && run.IsRemote() && s.Remote.Ready() == nil {
				return a.StartHub([]string{"supervise", args[0]}) // it speaks to the worker
			}
			switch seat := s.SupervisorSpec(args[0], s.Dir); {
			case detach: // the supervisor itself checks whether the agent exists
				process, err := supervise.StartKeeper(seat)
				if err != nil {
					return err
				}
				return json.NewEncoder(a.Stdout).Encode(process)
			case keep:
				return supervise.RunKeeper(seat)
			}
			// One signal cancels the agent. Neither further signals nor endTime interrupt
			// the cleanup.
			a.DisableDeadline()
			ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			defer stop()
			return s.Supervise(ctx, args[0], slog.New(slog.NewJSONHandler(a.Stderr, nil)))
		})
	})
}
