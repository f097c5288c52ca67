package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

// A gateway may measure what a subagent of the host's own used before flame hears of that
// subagent, on a busy machine: then its frame has it, and the agent's must not.
func TestUsageOfSubagentsIsChargedOnce(t *testing.T) {
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "the agent's")
	run := record.Agent{ID: "agent-1", Tree: "s", Session: "a", Frame: frame.ID, Host: "claude-code", State: core.AgentActive}
	spend := func(p supervise.Progress) int64 {
		t.Helper()
		before := run // what an update does may be done twice
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
			again := before
			if err := record.ChargeUsage(f.Project.Step(tx, project.Caller{}), &again, p); err != nil {
				return err
			}
			again.Progress = p
			run = again
			return nil
		}))
		return f.Get(frame.ID).Usage.TokensIn
	}
	used := func(tokens int64) core.Usage { return core.Usage{TokensIn: tokens} }
	assert.EqualValues(t, 100, spend(supervise.Progress{Turns: 1, Usage: used(100)}))
	assert.EqualValues(t, 110, spend(supervise.Progress{Turns: 1, Usage: used(100), SubagentUsage: used(10)}), "this is the usage of an unknown subagent")
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return tx.SaveSession(core.Session{ID: "c", Parent: "a", Host: "claude-code", State: core.SessionActive, Tracked: true})
	}))
	assert.EqualValues(t, 200, spend(supervise.Progress{Turns: 2, Usage: used(200), SubagentUsage: used(10)}))
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.DeleteSession("c") }))
	assert.EqualValues(t, 300, spend(supervise.Progress{Turns: 3, Usage: used(300), SubagentUsage: used(20)}), "the subagent was known before")
}

func TestAnAgentOfAnOlderFlameIsNotChargedAgain(t *testing.T) {
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "the agent's")
	run := record.Agent{ID: "agent-1", Tree: "s", Frame: frame.ID, Progress: supervise.Progress{Usage: core.Usage{TokensIn: 100}}}
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		again := run
		return record.ChargeUsage(f.Project.Step(tx, project.Caller{}), &again, supervise.Progress{Usage: core.Usage{TokensIn: 150}})
	}))
	assert.EqualValues(t, 50, f.Get(frame.ID).Usage.TokensIn)
}
