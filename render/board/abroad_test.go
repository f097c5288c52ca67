package board_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/abroad"
	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/store"
	"flame/tests/projecttest"
)

func TestTheBoardShowsAgentsOfOtherMachinesWhileTheyReport(t *testing.T) {
	t.Parallel()
	s := projecttest.Open(t, filepath.Join(t.TempDir(), "data"), store.Options{})
	b := board.New(s, func() core.Millis { return 50 })
	shown := func(do func(tx project.Tx) error) []board.Agent {
		require.NoError(t, s.Update(t.Context(), do))
		_, err := b.Read(t.Context())
		require.NoError(t, err)
		return b.Since(0).Agents
	}
	tells := func(text string) func(tx project.Tx) error {
		return func(tx project.Tx) error { return abroad.Take(tx, "desk-1", json.RawMessage(text), 10) }
	}
	assert.Empty(t, shown(tells("")))
	all := shown(tells(`[{"id":"agent-a","state":"active","frame":"frame-aaaaaaaa","description":"one"},{"id":"agent-b","state":"active"}]`))
	require.Len(t, all, 2)
	for _, a := range all {
		assert.Equal(t, "desk-1", a.Machine)
		assert.Equal(t, core.AgentActive, a.State)
	}
	state := func(all []board.Agent) map[string]core.AgentState {
		states := map[string]core.AgentState{}
		for _, a := range all {
			states[a.ID] = a.State
		}
		return states
	}
	all = shown(tells(`[{"id":"agent-a","state":"completed"},{"id":"agent-b","state":"active"}]`))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentActive}, state(all))
	all = shown(func(tx project.Tx) error { return abroad.Keep(tx, nil) })
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentOrphaned}, state(all),
		"its outcome is unknown")
}
