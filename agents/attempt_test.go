package agents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/briefing"
)

// contextOf returns the context in an agent's prompt.
func (s *service) contextOf(run record.Agent) string {
	s.t.Helper()
	told, err := record.AssignmentOf(s.ctx, s.Project, run.ID)
	require.NoError(s.t, err)
	return told.Context
}

func TestAgentsWithTheSameTaskDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	s := newService(t)
	vote := func(prompt, description string) record.Agent {
		run := s.request(user, plan.Request{Type: "builder", Prompt: prompt, Description: description})
		return s.over(run.ID, core.AgentCompleted, core.Completed)
	}
	vote("done VOTE 1", "")
	again := vote("done VOTE 2", "")
	assert.NotContains(t, s.contextOf(again), "VOTE 1", "it was given the same task")
	other := vote("done OTHER", "Judge it, 1")
	assert.Contains(t, s.contextOf(other), "VOTE 1", "it was given another task")
	third := vote("done THIRD", "judge it, 2")
	assert.NotContains(t, s.contextOf(third), "OTHER", "its task had the same description")
	assert.Contains(t, s.contextOf(third), "VOTE 1")

	contexts := briefing.Contexts{Project: s.Project}
	made, err := contexts.Context(s.ctx, project.Caller{Host: project.CommandLine}, again.Frame, 0)
	require.NoError(t, err)
	assert.Contains(t, made.Text, "OTHER", "it still sees the work of others later")
	assert.NotContains(t, made.Text, "VOTE 1", "but not the work of agents with its task")
}
