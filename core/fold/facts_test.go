package fold_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

func TestFactsOfAFrameStandWhereItsPopDoesNotSayThem(t *testing.T) {
	t.Parallel()
	type row struct {
		Ran     []fold.Command
		Files   []string
		Reads   []string
		Results []string // of subagents
		Tokens  int
		Summary string
		Says    string // the agent, in the frame
		Want    string
	}
	for name, tt := range cases.Read[row](t, "testdata/facts.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, frames := talk("u +A a -A a"), tree("A")
			history[2].Commands, history[2].Files, history[2].Tokens, frames[0].Summary = tt.Ran, tt.Files, 1000, tt.Summary
			history[2].Text, history[2].Reads, history[2].Results = tt.Says, tt.Reads, tt.Results
			if tt.Tokens > 0 {
				history[2].Tokens = tt.Tokens
			}
			folded := whole(history, frames)
			got := ""
			for _, note := range folded.Before {
				assert.Equal(t, "3", note.Before)
				got += strings.TrimSuffix(strings.TrimPrefix(note.Text, `<flame-facts frame="A">`), "</flame-facts>")
			}
			assert.Equal(t, tt.Want, got)
			assert.LessOrEqual(t, core.Units(got), 240)
		})
	}
}
