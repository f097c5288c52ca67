package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/economy/work"
	"flame/tests/model"
	"flame/tests/model/rules"
)

// TestFigures says what the figures count.
func TestFigures(t *testing.T) {
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

func TestEachFactComesUpOnce(t *testing.T) {
	for name, facts := range map[string][]work.Fact{"facts": work.Facts, "others": work.Others} {
		w, dialogs := work.Remembered(facts, 500)
		assert.Len(t, facts, 40, name)
		var told strings.Builder // by goals and pops
		for _, p := range w.Prompts {
			for _, piece := range p.Pieces {
				told.WriteString(piece.Goal + piece.Summary + strings.Join(piece.Decisions, "") + strings.Join(piece.Artifacts, ""))
			}
		}
		everything := fmt.Sprintf("%+v %v", w, dialogs)
		for _, round := range w.Script(work.Framed, speaker{ofClaudeCode.tongue, "/p"}) {
			everything += fmt.Sprintf("%+v", round.Turns)
		}
		for _, f := range facts {
			assert.Contains(t, everything, f.Words)
			assert.NotContains(t, told.String(), f.Words)
		}
	}
	const error = "E4471 cursor closed before row 50001"
	assert.Contains(t, work.Summary(work.Facts, "list all errors", error), "E4471")
	assert.NotContains(t, work.Summary(work.Facts, "list all files", error), "E4471", "the prompt asks for no errors")
	assert.NotContains(t, work.Summary(work.Facts, "list all errors", "nothing"), "E4471", "it is not in the request")
}

func TestTheTableOfFactsKeepsRowsThatWereNotMeasured(t *testing.T) {
	var b strings.Builder
	measured := []memory{{Host: claudeCode, Variant: behind, Facts: [4]int{30, 8, 1, 1}, Chars: 5}}
	writeKept(&b, measured, "| OpenCode, flame | 1 | 2 | 3 | 4 | 5 | 6 |\n| Nothing, flame | 1 |\n")
	assert.Contains(t, b.String(), "| Claude Code, flame claude | 30 | 8 | 1 | 1 | 5 | 0 |\n| OpenCode, flame | 1 | 2 | 3 | 4 | 5 | 6 |\n")
	assert.NotContains(t, b.String(), "Nothing")
}

func TestTablesAreWrittenIntoTheirPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "economy.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+begin+"OUTDATED\n"+end+"\nafter\n"), 0o644))
	r := results{
		{Host: openCode, Variant: withoutFlame, Stats: rules.Stats{Tokens: 9_000_000}, Cached: 3},
		{Host: openCode, Variant: withFlame, Stats: rules.Stats{Tokens: 1_000_000, Rejected: 1}, Cached: 2},
	}
	rewrite(file, begin, r.write)
	rewrite(file, begin, results{{Host: openCode, Variant: natively, Twice: 77}}.write) // the others stay
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| OpenCode, flame | 0 | 1.00 M | 9.00x | 2.00 | 1.50x |")
	assert.Regexp(t, `(?s)^before\n.*OpenCode, flame .*OpenCode, each piece .* 77 \|.*after\n$`, string(text))
	assert.NotContains(t, string(text), "OUTDATED")
	assert.Contains(t, r.judge(t.Output(), work.Pieces), "opencode, flame: requests rejected")
}

func TestNoMoreRequestsMayBeRejectedThanWithoutFlame(t *testing.T) {
	row := func(variant string, rejected int) memory {
		return memory{Host: claudeCode, Variant: variant, Rejected: rejected}
	}
	rows := []memory{row(withoutFlame, 0), row(withoutFlame+compacted, 1), row(withFlame, 0), row(withFlame+compacted, 1)}
	require.NoError(t, moreRejected(rows))
	require.ErrorContains(t, moreRejected(append(rows, row(behind, 1))), "claude-code, "+behind+": 1 requests were rejected, 0 without flame")
	require.ErrorContains(t, moreRejected(append(rows, row(behind+compacted, 2))), "2 requests were rejected, 1 without flame")
	require.NoError(t, moreRejected([]memory{row(behind, 1)}), "nothing to compare with")
}
