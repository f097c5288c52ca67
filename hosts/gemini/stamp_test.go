package gemini_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
)

func TestACallIsAnnouncedWithoutTheCallerThatAModelNames(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	answer := s.Send(map[string]any{
		"hook_event_name": "BeforeTool", "tool_name": "mcp_flame_flame_push", "mcp_context": map[string]any{"server_name": "flame", "tool_name": "flame_push"},
		"tool_input": map[string]any{"goal": "g", "session_id": "x", "agent_id": 7, "flame_proof": nil},
	})
	assert.JSONEq(t, `{"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"goal": "g"}}}`, answer)
	found, _, err := s.P.TakeAnnounced(t.Context(), project.CallKey("flame_push", []byte(`{"goal": "g"}`)))
	require.NoError(t, err)
	require.NotNil(t, found)
	assert.Equal(t, "main", found.Session)
}
