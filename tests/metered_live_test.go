package tests

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/model"
)

// TestClaudeBehindAGatewayCostsWhatItsModelCounted compares flame's figures with the model's, for
// a session with subagents whose logs contain the same answers.
func TestClaudeBehindAGatewayCostsWhatItsModelCounted(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	script := family(func(description, prompt string) model.Tool { return agent(description, prompt, false) })
	calls := 0
	for i, actor := range script {
		for j := range actor.Turns {
			turn := &script[i].Turns[j]
			calls += len(turn.Tools)
			turn.Usage = model.Usage{Input: 100*i + j + 1, Output: 200*i + j + 1, CacheRead: 300*i + j, Cached5m: 400*i + j}
		}
	}
	u.model.Play(script)
	u.must(u.flame, "claude", "-p", "--output-format", "json", "MAINWORK please")
	u.isFamily(false)
	calls += lo.CountBy(u.model.Requests(), func(r model.Request) bool { return r.Searches })

	type stats struct {
		Usage   core.Usage
		Metered []metered
	}
	var told stats
	require.Eventually(t, func() bool { // flame counts the logs after the session
		told = stats{}
		require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
		return told.Usage.ToolCalls == int64(calls)
	}, patience, 100*time.Millisecond)
	t.Log(u.must(u.flame, "stats"))
	requests, sent, used, conversation := 0, int64(0), core.Usage{}, core.Usage{}
	for _, m := range told.Metered {
		requests, sent, used = requests+m.Requests, sent+m.Sent, used.Add(m.Usage)
		if m.Class == "main" || m.Class == "subagent" {
			conversation = conversation.Add(m.Usage)
		}
	}
	want := core.Usage{}
	for _, actor := range script {
		for _, r := range lo.Filter(u.model.Requests(), func(r model.Request, _ int) bool { return r.Actor == actor.Name }) {
			said := actor.Turns[r.Turn].Usage
			want = want.Add(core.Usage{
				TokensIn: int64(said.Input), TokensOut: int64(said.Output), CacheRead: int64(said.CacheRead), CacheWritten: int64(said.Cached5m),
			})
		}
	}
	assert.Len(t, u.model.Requests(), requests)
	for _, r := range u.model.Requests() {
		sent -= int64(r.Bytes)
	}
	assert.Zero(t, sent, "bytes that went on are those that came")
	want.CostUSD = conversation.CostUSD
	assert.Equal(t, want, conversation)
	assert.Positive(t, used.CostUSD)
	assert.InDelta(t, used.CostUSD, told.Usage.CostUSD, 1e-9, "each answer once")
	used.CostUSD, used.ToolCalls, told.Usage.CostUSD = 0, int64(calls), 0
	assert.Equal(t, used, told.Usage)
	// One of the requests of "do one" and "look at the leaf" searches for a tool.
	for goal, least := range map[string]int{"do one": 4, "do two": 1, "inside two": 1, "look at the leaf": 3} {
		var shown struct{ Metered []metered }
		require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "show", u.frame(goal).SessionID, "--json")), &shown))
		require.NotEmpty(t, shown.Metered, goal)
		assert.Equal(t, []any{"subagent", least}, []any{shown.Metered[0].Class, shown.Metered[0].Requests}, goal)
	}
}
