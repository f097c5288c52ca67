package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/tools"
)

// hidden returns flame_more and the tools that are called through it.
func hidden(t *testing.T, p *project.Project) (more tools.Tool, behind []tools.Tool) {
	all := tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}})
	chosen, err := tools.Select(all, "lean")
	require.NoError(t, err)
	direct := map[string]bool{}
	for _, tool := range chosen {
		direct[tool.Name] = true
	}
	for _, tool := range all {
		if !direct[tool.Name] {
			behind = append(behind, tool)
		}
	}
	more, err = tools.Find(all, "flame_more")
	require.NoError(t, err)
	return more, behind
}

func TestMoreListsDescribesAndCallsTheRest(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	more, behind := hidden(t, p)
	call := func(args string) (tools.Result, error) {
		return more.Call(t.Context(), project.Caller{Session: "s", Host: "test"}, json.RawMessage(args))
	}
	listed, err := call(`{}`)
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(listed.Text), "\n"), len(behind))
	for _, tool := range behind {
		assert.Contains(t, listed.Text, tool.Name+": ")
		told, err := call(fmt.Sprintf(`{"tool": %q}`, tool.Name))
		require.NoError(t, err)
		assert.Contains(t, told.Text, string(tool.Schema()), tool.Name)
		assert.Contains(t, told.Text, tool.Description, tool.Name)
		_, err = call(fmt.Sprintf(`{"tool": %q, "arguments": {"bogus": 1}}`, tool.Name))
		_, own := tool.Call(t.Context(), project.Caller{Session: "s", Host: "test"}, json.RawMessage(`{"bogus": 1}`))
		require.ErrorIs(t, err, core.ErrInvalid)
		assert.Equal(t, own, err, "as a call of its own")
		assert.False(t, tool.Hints.OpenWorld, tool.Name)
	}
	assert.False(t, more.Hints.ReadOnly)
	assert.False(t, more.Hints.Destructive, "what is invalidated or cancelled is kept, and Codex CLI would ask a person before each search")
	state, err := call(`{"tool": "flame_get_state", "arguments": {}}`)
	require.NoError(t, err)
	assert.NotNil(t, state.Structured)
}
