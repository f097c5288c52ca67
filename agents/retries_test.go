package agents_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// TestUsageOfALostWorkerCounts lets a second worker restart an agent.
func TestUsageOfALostWorkerCounts(t *testing.T) {
	t.Parallel()
	used := func(tokens int64, usd float64) supervise.Progress {
		return supervise.Progress{Turns: 1, Usage: core.Usage{TokensIn: tokens, CostUSD: usd}}
	}
	mode := record.ModeChoice{Effective: hosts.ModePlan}
	second := make(chan struct{})
	s, _ := joined(t, func(ctx context.Context, _ record.Task, see func(agents.RemoteProgress)) error {
		see(agents.RemoteProgress{Attempt: 1, Begun: true, Report: record.Report{Machine: "box-1", Progress: used(100, 0.5), Mode: mode}})
		select {
		case <-second:
		case <-ctx.Done():
			return ctx.Err()
		}
		see(agents.RemoteProgress{Attempt: 2, Begun: true, Report: record.Report{Machine: "box-2"}})
		end := used(40, 0.25)
		end.TreeUSD = 0.3
		o := &supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "all of it", Progress: end}
		see(agents.RemoteProgress{Attempt: 2, Begun: true, Over: true, Report: record.Report{Machine: "box-2", Progress: end, Mode: mode, Outcome: o}})
		return nil
	})
	run := s.request(user, plan.Request{Type: "builder", Prompt: "done", On: "gpu", Retries: 1})
	assert.Equal(t, 1, run.Retries)
	s.eventually(func() bool {
		run = s.until(run.ID, core.AgentActive)
		return run.Progress.Tokens() == 100
	})
	close(second)
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, 2, run.Attempt)
	assert.Equal(t, "box-2", run.Worker)
	assert.Equal(t, int64(140), run.Outcome.Tokens())
	assert.InDelta(t, 0.8, run.Outcome.Cost(), 1e-9)
	require.NoError(t, s.Project.Store.View(s.ctx, func(tx project.Tx) error {
		tree, err := record.Trees.Find(tx, run.Tree)
		assert.InDelta(t, 0.8, tree.CostUSD, 1e-9, "the limits of the tree include the usage of lost attempts")
		return err
	}))
}

// TestTheUsageOfALostWorkerCountsForTheBudget has the second worker have what is left.
func TestTheUsageOfALostWorkerCountsForTheBudget(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	s, e := joined(t, func(_ context.Context, _ record.Task, see func(agents.RemoteProgress)) error {
		for attempt, machine := range []string{"box-1", "box-2"} {
			see(agents.RemoteProgress{Attempt: attempt + 1, Begun: true, Report: record.Report{
				Machine: machine, Progress: supervise.Progress{Usage: core.Usage{TokensIn: 600}}, Mode: record.ModeChoice{Effective: hosts.ModePlan},
			}})
		}
		<-ends
		see(agents.RemoteProgress{Attempt: 2, Begun: true, Over: true,
			Report: record.Report{Outcome: &supervise.Outcome{State: core.AgentCancelled, Reason: "cancelled"}}})
		return nil
	})
	t.Cleanup(func() { close(ends) })
	run := s.request(user, plan.Request{Type: "builder", Prompt: "done", On: "gpu", Retries: 1, BudgetTokens: 1_000})
	s.eventually(e.toldToStop)
	require.NoError(t, s.Project.Store.View(s.ctx, func(tx project.Tx) (err error) {
		run, err = record.Find(tx, run.ID)
		return err
	}))
	assert.Equal(t, int64(1_200), run.Progress.Tokens())
	e.mu.Lock()
	defer e.mu.Unlock()
	assert.Equal(t, supervise.TokenBudget, e.cancelled[0])
}
