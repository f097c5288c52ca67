package fold_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

// turnsOf makes a history of turns, each of a prompt and what follows, and their frames: A, B and so on.
// A prompt comes a moment before its frame, which ends a moment after the last message; n repeats
// a round of tools n times.
func turnsOf(scripts []string) (history []fold.Message, frames []fold.Frame) {
	words := ""
	for i, script := range scripts {
		from := len(strings.Fields(words))
		for _, word := range strings.Fields("u " + script) {
			if n := strings.Count(word, "n"); n > 0 {
				word = strings.Repeat("a r ", n)
			}
			words += " " + word
		}
		f := fold.Frame{Frame: core.Frame{ID: string(rune('A' + i)), Parent: "R", Status: core.Completed, Goal: "goal", Summary: "said"}, Turn: true}
		f.EnteredAt, f.EndedAt = core.Millis(100*from+1), core.Millis(100*len(strings.Fields(words))-50)
		frames = append(frames, f)
	}
	return talk(words), frames
}

func TestTurnsFoldOneBehind(t *testing.T) {
	t.Parallel()
	type row struct {
		Turns  []string
		Big    []int // messages of 4,000 tokens
		Frames string
		Drop   string
		Notes  string
	}
	for name, tt := range cases.Read[row](t, "testdata/turns.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, frames := turnsOf(tt.Turns)
			for _, i := range tt.Big {
				history[i].Tokens = 4_000
			}
			for _, f := range tree(tt.Frames) {
				if last := &frames[len(frames)-1]; last.ID == f.ID {
					last.Status, last.EndedAt = f.Status, 0
					continue
				}
				frames = append(frames, f)
			}
			folded := whole(history, frames)
			assert.Equal(t, tt.Drop, strings.Join(folded.Drop, " "))
			assert.Equal(t, tt.Notes, outline(folded.Before))
		})
	}
}
