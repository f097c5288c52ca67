package transcripts_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts/gemini"
)

func TestGeminiAnswersCountOnce(t *testing.T) {
	messages, err := collect(samples["gemini/family.jsonl"], sample(t, "gemini/family.jsonl"))
	require.NoError(t, err)
	var sum core.Usage
	var notes []core.AgentInfo
	for _, m := range messages {
		sum = sum.Add(m.Usage)
		notes = append(notes, m.Notes...)
	}
	assert.Equal(t, int64(100), sum.TokensOut)
	assert.Equal(t, int64(4), sum.ToolCalls)
	last := notes[len(notes)-1]
	assert.Equal(t, core.AgentCompleted, last.State)
	assert.Equal(t, "done", last.Result)
}

func TestTheEndOfAGeminiLogShowsTheLastTurn(t *testing.T) {
	raw, err := os.ReadFile("testdata/gemini/session.jsonl")
	require.NoError(t, err)
	for _, log := range []string{string(raw), strings.Repeat("x", 100) + "\n" + string(raw) + `{"id":"1`} {
		turn := gemini.LastTurn([]byte(log))
		assert.Equal(t, "over", turn.Said)
		assert.True(t, turn.Over)
		assert.Equal(t, 19_476, turn.Tokens)
		require.Len(t, turn.Calls, 3)
		assert.True(t, turn.Calls[1].OK)
		assert.False(t, turn.Calls[2].OK, "an argument that the schema lacks")
	}
	raw, err = os.ReadFile("testdata/gemini/family.jsonl")
	require.NoError(t, err)
	children := gemini.Children(raw)
	require.Len(t, children, 2)
	assert.Equal(t, core.ChildFailed, children[0].End, "it never called complete_task")
	assert.Equal(t, []string{"/home/u/shop/a.txt"}, gemini.Written(raw))
	summary, _ := gemini.Snapshot(raw)
	assert.Empty(t, summary)
}

func FuzzGeminiTurn(f *testing.F) {
	for _, name := range []string{"session", "family", "subagent"} {
		raw, err := os.ReadFile("testdata/gemini/" + name + ".jsonl")
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"$set":{"messages":[{"type":"user","content":"<state_snapshot>x</state_snapshot>"}]}}`))
	f.Fuzz(func(_ *testing.T, log []byte) {
		gemini.LastTurn(log)
		gemini.Children(log)
		gemini.Written(log)
		gemini.Snapshot(log)
		gemini.Calling(log)
		gemini.Ended(log)
	})
}
