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

func TestTheRemainderOfTheWork(t *testing.T) {
	t.Parallel()
	w := work.Work{Prompts: []work.Prompt{{Text: "do it\nwell", Pieces: []work.Piece{
		{Goal: "first", Decisions: []string{"tabs", "spaces"}, Artifacts: []string{"a.go"}, Summary: "was easy"},
		{Goal: "second", Decisions: []string{"lines"}, Summary: "was hard"},
	}}}}
	ids := map[string]string{"first": "frame-1", "second": "frame-2"}
	got := remaining(w, "do it: first (frame-1): tabs", ids)
	assert.Equal(t, remainder{
		Goals: share{Of: 2, ByWord: 1}, Decisions: share{Of: 3, ByWord: 1, ByID: 1}, Artifacts: share{Of: 1, ByID: 1},
		Summaries: share{Of: 2, ByID: 1}, Words: share{Of: 2, ByWord: 1},
	}, got)
	assert.InDelta(t, 0.6, kept(result{Kept: got}, result{}), 1e-9)
	assert.Equal(t, "1 of 3, 1 by id", got.Decisions.String())
}

func TestRepeatedTexts(t *testing.T) {
	t.Parallel()
	const context = "<flame-context a=\"1\">\n  <goal>the parser</goal>\n</flame-context>"
	tests := map[string]struct {
		texts []string
		want  int
	}{
		"once":  {texts: []string{"hi", context}},
		"again": {texts: []string{context, context}, want: len("<flame-context a=\"1\">\n  <goal>the parser</goal>\n")},
		"one line again": {
			texts: []string{context, "<flame-changes>\n  <goal>the parser</goal>\n  <goal>more</goal>\n</flame-changes>"},
			want:  len("  <goal>the parser</goal>\n"),
		},
		"by others":          {texts: []string{"<goal>the parser</goal>", context, "<goal>the parser</goal>"}},
		"repeated by a tool": {texts: []string{context, "result"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r model.Request
			for _, text := range tt.texts {
				r.Messages = append(r.Messages, model.Message{Role: "user", Text: text})
			}
			assert.Equal(t, tt.want, twice(r))
		})
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	judge := rules.New(rules.Options{Tokens: func(string) int { return 1_000_000 }})
	judge.Judge("s", []byte(`{"messages": [{"role": "user", "content": "hi"}]}`))
	judge.Answered("s", "yes")
	got := figures(variants[0], judge)
	assert.InDelta(t, 18, got.Cached, 1e-9)
	assert.InDelta(t, 18, got.Uncached, 1e-9)
}

func TestTablesAreWrittenIntoTheirPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "economy.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+begin+"OUTDATED\n"+end+"\nafter\n"), 0o644))
	r := results{
		{Host: openCode, Variant: withoutFlame, Stats: rules.Stats{Tokens: 9_000_000}, Cached: 3},
		{Host: openCode, Variant: withFlame, Stats: rules.Stats{Tokens: 1_000_000}, Cached: 2},
	}
	for range 2 {
		require.NoError(t, r.writeInto(file))
		require.NoError(t, results{{Host: openCode, Variant: natively, Twice: 77}}.writeInto(file), "the others stay")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), "| OpenCode, flame | 0 | 1.00 M | 9.00x | 2.00 | 1.50x |")
		assert.Regexp(t, `(?s)cached.*OpenCode, each piece .*told again.*OpenCode, flame .*OpenCode, each piece .* 77 \|`, string(text))
		assert.NotContains(t, string(text), "OUTDATED")
		assert.Regexp(t, `(?s)^before\n.*after\n$`, string(text))
	}
	raw, err := os.ReadFile("../../docs/economy.md")
	require.NoError(t, err)
	assert.Contains(t, string(raw), begin)
}

func TestGoals(t *testing.T) {
	t.Parallel()
	for _, g := range goals {
		assert.True(t, someVariant(g.host, g.variant), "%s, %s", g.host, g.variant)
	}
	r := results{
		{Host: openCode, Variant: withoutFlame, Stats: rules.Stats{Tokens: 7}, Cached: 7},
		{Host: openCode, Variant: withFlame, Stats: rules.Stats{Tokens: 1, Rejected: 1}, Cached: 1},
	}
	const fewer, refused = "opencode, flame: times fewer tokens", "opencode, flame: requests rejected"
	short, whole := r.judge(t.Output(), shortWork), r.judge(t.Output(), work.Pieces)
	assert.Contains(t, short, refused)
	assert.Contains(t, whole, refused)
	assert.NotContains(t, short, fewer, "short work saves less")
	assert.Contains(t, whole, fewer)
	assert.Empty(t, r.judge(t.Output(), shortWork-1), "too little to tell")
}

func TestNewerResultsReplaceOlder(t *testing.T) {
	t.Parallel()
	row := func(host, variant string, twice int) result {
		return result{Host: host, Variant: variant, Twice: twice}
	}
	older := results{row(claudeCode, withFlame, 1), row(openCode, withFlame, 2)}
	got := older.with(results{row(openCode, withFlame, 3), row(openCode, withoutFlame, 4)})
	assert.Equal(t, results{row(openCode, withoutFlame, 4), row(openCode, withFlame, 3), row(claudeCode, withFlame, 1)}, got)
}

func someVariant(host, name string) bool {
	for _, v := range variants {
		if v.host == host && v.name == name {
			return true
		}
	}
	return false
}

func TestVariantsOfUnknownSettingsAreLeftOut(t *testing.T) {
	t.Parallel()
	assert.True(t, variant{}.possible())
	assert.True(t, variant{env: []string{"FLAME_FOLD=off"}}.possible())
	assert.False(t, variant{env: []string{"FLAME_FOLD=off", "FLAME_NONSENSE=1"}}.possible())
}
