package tests

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/hoststest"
	"flame/tests/model"
)

// The prices are right if they give the costs that Claude Code reports for a session.
func TestClaudeCodesSessionsHaveItsCosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"claude-fable-5-2", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-3-7-sonnet-20250219", "claude-opus-5-5",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, claudeCode)
			u.model.Play(model.Script{asked("main", "MAINWORK",
				model.Turn{
					Tools: []model.Tool{{Name: "Bash", Input: map[string]any{"command": "true", "description": "nothing"}}},
					Usage: model.Usage{Input: 1_000, Output: 2_000, CacheRead: 30_000, Cached5m: 4_000, CachedForHour: 5_000},
				},
				model.Turn{Text: "done", Usage: model.Usage{Input: 90_000, Output: 3_000, CacheRead: 20_000}},
			)})
			var said struct {
				Cost float64 `json:"total_cost_usd"`
			}
			require.NoError(t, json.Unmarshal([]byte(u.must("claude", "-p", "--output-format", "json", "--model", name, "--", "MAINWORK")), &said))

			logs, err := filepath.Glob(filepath.Join(u.home, ".claude", "projects", "*", "*.jsonl"))
			require.NoError(t, err)
			require.Len(t, logs, 1)
			var counted core.Usage
			for entry, err := range hoststest.Known().Formats().Read(claudeCode, logs[0], core.LogPosition{}) {
				require.NoError(t, err)
				counted = counted.Add(entry.Usage)
			}
			assert.Equal(t, int64(5_000), counted.TokensOut)
			assert.Positive(t, said.Cost)
			assert.InDelta(t, said.Cost, counted.CostUSD, 1e-9)
		})
	}
}
