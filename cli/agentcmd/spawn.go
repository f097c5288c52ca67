package agentcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/plan"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/config/env"
	"flame/core/op"
	"flame/render"
)

func newSpawn(a *app.App) *cobra.Command {
	var r plan.Request
	var only []string
	var wait bool
	cmd := &cobra.Command{
		Use: "spawn TYPE PROMPT...", Short: "Start an agent, as " + string(op.Spawn) + " does",
		Example: `  flame agents spawn tester "run the tests of the store" --wait`, Args: flags.Takes(2, -1),
	}
	own := cmd.Flags()
	a.FrameFlag(cmd, &r.Frame, "frame to put its own below (default: the current one)")
	own.StringVar(&r.Description, "description", "", "its task in a few words")
	flags.Choose(cmd, &r.Mode, "permission-mode", "what it may do; more than its caller needs a grant", r.Mode.Values()...)
	own.StringSliceVar(&only, "tools", nil, "only these tools")
	own.StringVar(&r.Model, "model", "", "the model")
	flags.Lasts(cmd, &r.Timeout, "timeout", 0, "how long it may take; 0 is no limit (default: "+env.AgentTimeout+")")
	own.StringVar(&r.Cwd, "cwd", "", "the folder to work in (default: the project's)")
	flags.Choose(cmd, &r.Isolation, "isolation", "worktree: a git worktree of its own", r.Isolation.Values()...)
	own.StringVar(&r.On, "on", "", "run it on another machine: the queue of its worker")
	own.IntVar(&r.Retries, "retries", 0, "with --on: how often another worker may begin it anew when one is lost")
	own.BoolVar(&r.Uncommitted, "uncommitted", false, "with --on: changes that are not committed go along")
	own.StringVar(&r.Key, "key", "", "the same key again gives the same agent")
	own.Int64Var(&r.BudgetTokens, "budget-tokens", 0, "token budget")
	own.Float64Var(&r.BudgetUSD, "budget-usd", 0, "cost limit in US dollars")
	own.BoolVar(&r.Bare, "no-context", false, "without the context of its frame")
	own.BoolVar(&wait, "wait", false, "wait until it ends, and print its result")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.Type, r.Prompt = args[0], strings.Join(args[1:], " ")
		r.Unlimited = own.Changed("timeout") && r.Timeout == 0
		if own.Changed("tools") {
			r.Tools = &only
		}
		run, err := s.Spawn(ctx, a.Caller(), r)
		if err != nil {
			return err
		}
		if wait {
			return agentView{a}.awaitResult(ctx, s, run.ID)
		}
		return a.Out.Print(run, render.Agent(s, run))
	})
}
