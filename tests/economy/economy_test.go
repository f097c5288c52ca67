package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/economy/work"
	"flame/tests/model"
	"flame/tests/model/rules"
)

// TestFigures says what the figures count.
func TestFigures(t *testing.T) {
	t.Parallel()
	w := work.Work{Prompts: []work.Prompt{{Text: "do it\nwell", Pieces: []work.Piece{
		{Goal: "first", Decisions: []string{"tabs", "spaces"}, Artifacts: []string{"a.go"}, Summary: "was easy"},
		{Goal: "second", Decisions: []string{"lines"}, Summary: "was hard"},
	}}}}
	got := remaining(w, "do it: first (frame-1): tabs", map[string]string{"first": "frame-1", "second": "frame-2"})
	assert.Equal(t, remainder{
		Goals: share{Of: 2, ByWord: 1}, Decisions: share{Of: 3, ByWord: 1, ByID: 1}, Artifacts: share{Of: 1, ByID: 1},
		Summaries: share{Of: 2, ByID: 1}, Words: share{Of: 2, ByWord: 1},
	}, got)
	assert.InDelta(t, 0.6, kept(result{Kept: got}, result{}), 1e-9)

	const context = "<flame-context a=\"1\">\n  <goal>the parser</goal>\n</flame-context>"
	said := func(texts ...string) (r model.Request) {
		for _, text := range texts {
			r.Messages = append(r.Messages, model.Message{Role: "user", Text: text})
		}
		return r
	}
	assert.Zero(t, twice(said("<goal>the parser</goal>", context, "<goal>the parser</goal>")), "what others said is not flame's")
	assert.Equal(t, len("<flame-context a=\"1\">\n  <goal>the parser</goal>\n"), twice(said(context, context)))

	judge := rules.New(rules.Options{Tokens: func(string) int { return 1_000_000 }})
	judge.Judge("s", []byte(`{"messages": [{"role": "user", "content": "hi"}]}`))
	judge.Answered("s", "yes")
	assert.InDelta(t, 18, figures(variants[0], judge).Cached, 1e-9)
}

func TestTheChartShowsTheRowsOfTheDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/economy.md")
	require.NoError(t, err)
	want, err := chartOf(string(document))
	require.NoError(t, err)
	drawn, err := os.ReadFile("../../" + chartFile)
	require.NoError(t, err)
	assert.Equal(t, want, string(drawn), "go run ./tests/economy -chart draws it again")
	_, err = chartOf("| OpenCode, no flame | 1 | 2 M | 1.00x |")
	assert.Error(t, err)
}

func TestTablesAreWrittenIntoTheirPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "economy.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+begin+"OUTDATED\n"+end+"\nafter\n"), 0o644))
	r := results{
		{Host: openCode, Variant: withoutFlame, Stats: rules.Stats{Tokens: 9_000_000}, Cached: 3},
		{Host: openCode, Variant: withFlame, Stats: rules.Stats{Tokens: 1_000_000, Rejected: 1}, Cached: 2},
	}
	require.NoError(t, r.writeInto(file))
	require.NoError(t, results{{Host: openCode, Variant: natively, Twice: 77}}.writeInto(file), "the others stay")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| OpenCode, flame | 0 | 1.00 M | 9.00x | 2.00 | 1.50x |")
	assert.Regexp(t, `(?s)^before\n.*OpenCode, flame .*OpenCode, each piece .* 77 \|.*after\n$`, string(text))
	assert.NotContains(t, string(text), "OUTDATED")
	assert.Contains(t, r.judge(t.Output(), work.Pieces), "opencode, flame: requests rejected")
}
