package agentcmd

import (
	"context"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/record"
	"flame/cli/app"
	"flame/project"
	"flame/render"
)

// asksAgents sets up a command that works with agents.
func asksAgents(a *app.App, cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withRecovered(cmd.Context(), a, func(s *agents.Agents) error { return run(cmd.Context(), s, args) })
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

// withRecovered opens the agents of this project for f, after recovering from
// killed processes.
func withRecovered(ctx context.Context, a *app.App, f func(*agents.Agents) error) error {
	return a.With(ctx, func(p *project.Project) error {
		s, err := a.AgentsOf(p)
		if err != nil {
			return err
		}
		if err := s.Recover(ctx); err != nil {
			p.Log.Warn("agents could not be recovered", "error", err)
		}
		return f(s)
	})
}

// asksCatalog sets up a command that reads the definitions and prints an
// answer.
func asksCatalog(a *app.App, cmd *cobra.Command, run func(c definition.Catalog, args []string) error) *cobra.Command {
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		catalog, err := a.Catalog()
		if err != nil {
			return err
		}
		return run(catalog, args)
	}
	return cmd
}

// An agentView prints agents and their results.
type agentView struct{ app *app.App }

// awaitResult waits until an agent ends and prints its outcome.
func (v agentView) awaitResult(ctx context.Context, s *agents.Agents, id string) error {
	run, err := s.Wait(ctx, id, func(record.Run) {})
	if err == nil && !run.State.Ended() {
		return v.app.Out.Print(run, render.Agent(s, run))
	}
	if err != nil {
		return err
	}
	return v.printResult(ctx, s, id)
}

func (v agentView) printResult(ctx context.Context, s *agents.Agents, id string) error {
	r, err := s.Result(ctx, id)
	if err != nil {
		return err
	}
	return v.app.Out.Print(r, render.Result(r, s.Project.Now(), 0, 0))
}
