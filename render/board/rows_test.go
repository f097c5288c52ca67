package board_test

import (
	"encoding/json"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"

	"flame/agents/abroad"
	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/tests/projecttest"
)

func TestARowNamesTheMachineOfItsFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	p, look := watch(f)
	for _, machine := range []string{"laptop-x7k2", ""} { // it is taken over
		save(f, core.Frame{ID: "frame-aaaaaaaa", Machine: machine, Goal: "work", Status: core.InProgress, CreatedAt: 10, UpdatedAt: 40})
		look()
		assert.Equal(t, machine, p.frames["frame-aaaaaaaa"].Machine)
	}
}

// What was begun has a time, also if an import does not say when; what never was, none.
func TestARowHasTheStartAndEndOfWork(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		frame       core.Frame
		from, until core.Millis
	}{
		"planned":                        {core.Frame{Status: core.Planned}, 0, 0},
		"in progress":                    {core.Frame{Status: core.InProgress, StartedAt: 20, Session: "s"}, 20, 0},
		"completed":                      {core.Frame{Status: core.Completed, StartedAt: 20, EndedAt: 30, Session: "s"}, 20, 30},
		"ended before it began":          {core.Frame{Status: core.Blocked, StartedAt: 20, EndedAt: 15, Session: "s"}, 20, 20},
		"imported":                       {core.Frame{Status: core.Completed}, 10, 40},
		"imported, and in progress":      {core.Frame{Status: core.InProgress}, 10, 0},
		"invalidated":                    {core.Frame{Status: core.Invalidated, StartedAt: 20, EndedAt: 30}, 20, 30},
		"invalidated while planned":      {core.Frame{Status: core.Invalidated, EndedAt: 30}, 0, 0},
		"activated, in an older project": {core.Frame{Status: core.Failed, Session: "s"}, 10, 40},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			tt.frame.ID, tt.frame.Goal, tt.frame.CreatedAt, tt.frame.UpdatedAt = "frame-aaaaaaaa", "work", 10, 40
			save(f, tt.frame)
			p, look := watch(f)
			look()
			assert.Equal(t, tt.from, p.frames["frame-aaaaaaaa"].From, "from")
			assert.Equal(t, tt.until, p.frames["frame-aaaaaaaa"].Until, "until")
		})
	}
}

func TestTheBoardShowsAgentsOfOtherMachinesWhileTheyReport(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	p, look := watch(f)
	shown := func(do func(tx project.Tx) error) map[string]core.AgentState {
		update(f, do)
		look()
		return lo.MapValues(p.agents, func(a board.Agent, _ string) core.AgentState {
			assert.Equal(t, "desk-1", a.Machine)
			return a.State
		})
	}
	tells := func(text string) func(tx project.Tx) error {
		return func(tx project.Tx) error { return abroad.Take(tx, "desk-1", json.RawMessage(text), 10) }
	}
	assert.Empty(t, shown(tells("")))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentActive, "agent-b": core.AgentActive},
		shown(tells(`[{"id":"agent-a","state":"active","frame":"frame-aaaaaaaa","description":"one"},{"id":"agent-b","state":"active"}]`)))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentActive},
		shown(tells(`[{"id":"agent-a","state":"completed"},{"id":"agent-b","state":"active"}]`)))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentOrphaned},
		shown(func(tx project.Tx) error { return abroad.Keep(tx, nil) }), "its outcome is unknown")
}
