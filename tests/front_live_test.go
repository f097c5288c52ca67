package tests

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/model"
)

// The agent's own gateway also counts side requests and native subagents.
func TestAnAgentsGatewayCountsAllAnswers(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.write(".claude/agents/boss.md", "---\nname: boss\ndescription: delegates\nmodel: inherit\n---\nYou delegate.\n")
	usage := model.Usage{Input: 1_000, Output: 100, CacheRead: 10_000}
	native := model.Tool{Name: "Agent", Input: map[string]any{
		"subagent_type": "general-purpose", "description": "look closer", "prompt": "NATIVEWORK", "run_in_background": false,
	}}
	u.model.Play(model.Script{
		asked("native", "NATIVEWORK", model.Turn{Text: "NATIVE-RESULT", Usage: usage}),
		asked("child", "CHILDWORK", model.Turn{Tools: []model.Tool{native}, Usage: usage}, model.Turn{Text: "CHILD-RESULT", Usage: usage}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{spawns("boss", "look at it", "CHILDWORK go", nil)}}, waitsFor(), model.Turn{Text: "MAIN-RESULT"}),
	})
	u.must(u.flame, "claude", "-p", "--output-format", "json", "--allowedTools", spawnRule, "--", "MAINWORK please")
	require.Len(t, u.model.By("native"), 1, u.log())
	child := u.model.By("child")
	require.Len(t, child, 2)
	for _, r := range child {
		assert.Equal(t, "main", r.Headers.Get("X-Claude-Code-Request-Class"))
	}
	var agents []struct {
		ID       string `json:"subagent_id"`
		Progress struct {
			Metered bool
			Usage   struct{ TokensIn, TokensOut, CacheRead int64 }
			Below   struct{ TokensIn, TokensOut, CacheRead int64 }
		}
	}
	text := u.must(u.flame, "agents", "runs", "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &agents), text)
	require.Len(t, agents, 1, text)
	p := agents[0].Progress
	assert.True(t, p.Metered, text)
	assert.Equal(t, int64(2_000), p.Usage.TokensIn, text)
	assert.Equal(t, int64(1_000), p.Below.TokensIn, text)
	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
	used := core.Usage{}
	for _, m := range told.Metered {
		used = used.Add(m.Usage)
	}
	assert.InDelta(t, used.CostUSD, told.Usage.CostUSD, 1e-9, "each answer once")
	assert.Equal(t, used.Tokens(), told.Usage.Tokens())
	left, err := filepath.Glob(filepath.Join(u.data(), "gateway", "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
