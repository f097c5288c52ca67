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
