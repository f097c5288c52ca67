package transcripts_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts/codex"
)

// Codex prints the usage of each answer once. A resumed session goes on in its file, and a fork's
// file has only what is its own.
func TestCodexAnswersCountOnce(t *testing.T) {
	for name, want := range map[string]core.Usage{
		"codex/resumed.jsonl": {TokensIn: 42_636, TokensOut: 80, ToolCalls: 2, CostUSD: 0.21558},
		"codex/forked.jsonl":  {TokensIn: 33_009, TokensOut: 60, ToolCalls: 2, CostUSD: 0.166845},
	} {
		messages, err := collect(samples[name], sample(t, name))
		require.NoError(t, err)
		var sum core.Usage
		for _, m := range messages {
			sum = sum.Add(m.Usage)
		}
		assert.InDelta(t, want.CostUSD, sum.CostUSD, 1e-9, name)
		sum.CostUSD = want.CostUSD
		assert.Equal(t, want, sum, name)
	}
}

func TestCodexChangesOfFilesAreExact(t *testing.T) {
	messages, err := collect(samples["codex/resumed.jsonl"], sample(t, "codex/resumed.jsonl"))
	require.NoError(t, err)
	var changes []core.FileChange
	for _, m := range messages {
		for _, p := range m.Parts {
			changes = append(changes, p.Files...)
		}
	}
	assert.Equal(t, []core.FileChange{
		{Path: "/home/u/shop/a.txt", Kind: core.FileAdded, Added: 1, Patch: "@@ -0,0 +1,1 @@\n+hello\n"},
		{Path: "/home/u/shop/b.txt", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ -1 +1 @@\n-hello\n+world\n"},
	}, changes)
}

func TestTheEndOfACodexLogShowsTheLastTurn(t *testing.T) {
	raw, err := os.ReadFile("testdata/codex/compacted.jsonl")
	require.NoError(t, err)
	for _, log := range []string{string(raw), strings.Repeat("x", 100) + "\n" + string(raw) + `{"timestamp":"2026`} {
		turn := codex.LastTurn([]byte(log))
		assert.Equal(t, "over", turn.Said)
		assert.True(t, turn.Over)
		assert.Equal(t, "gpt-6-sol", turn.Model)
		assert.Equal(t, 13_515, turn.Tokens)
		require.Len(t, turn.Calls, 4)
		assert.False(t, turn.Calls[1].OK, "cat of a missing file")
		assert.Equal(t, 3, *turn.Calls[1].Exit)
		assert.Equal(t, "workspace-write", codex.Sandbox([]byte(log)))
		assert.Empty(t, codex.Summary([]byte(log)), "of the last compaction, whose model said nothing")
		first, _, _ := strings.Cut(log, `"ordinal":39,`)
		assert.Equal(t, "I push", codex.Summary([]byte(first)))
		folder, parent := codex.Begun(raw)
		assert.Equal(t, "/home/u/shop", folder)
		assert.Empty(t, parent)
	}
}

func FuzzCodexTurn(f *testing.F) {
	raw, err := os.ReadFile("testdata/codex/compacted.jsonl")
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","input":"` + strings.Repeat(`\"`, 5_000)))
	f.Fuzz(func(t *testing.T, log []byte) {
		codex.LastTurn(log)
		codex.Sandbox(log)
		codex.Summary(log)
		codex.Begun(log)
	})
}
