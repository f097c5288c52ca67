package fold_test

import (
	"slices"
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

// listed makes a history in which an agent works through a list, and the frames of its items. In the words of
// talk, l-A+B is a round with a call of the list tool that ends item A and begins B, and n a round of other
// tools.
func listed(script string) (history []fold.Message, frames []fold.Frame) {
	var words []string
	byID := map[string]*fold.Frame{}
	for word := range strings.FieldsSeq(script) {
		at := core.Millis(100*len(words) + 50)
		call, isList := strings.CutPrefix(word, "l")
		for _, found := range move.FindAllStringSubmatch(call, -1) {
			switch {
			case !isList && found[1] == "-" && byID[found[2]] != nil:
				byID[found[2]].Status = core.Completed
			case !isList:
			case found[1] == "+":
				byID[found[2]] = &fold.Frame{
					Frame: core.Frame{ID: found[2], Parent: "R", Status: core.InProgress, Goal: "goal", Summary: "said"}, EnteredAt: at, Item: true,
				}
			default:
				byID[found[2]].Status, byID[found[2]].EndedAt = core.Completed, at
			}
		}
		switch n := strings.Count(word, "n"); {
		case isList:
			words = append(words, "a", "r")
		case n > 0:
			words = append(words, strings.Fields(strings.Repeat("a r ", n))...)
		default:
			words = append(words, word)
		}
	}
	for _, id := range []string{"A", "B", "C"} {
		if byID[id] != nil {
			frames = append(frames, *byID[id])
		}
	}
	return talk(strings.Join(words, " ")), frames
}

func TestItemsFoldOneBehind(t *testing.T) {
	t.Parallel()
	type row struct {
		History string
		Big     []int // messages of 4,000 tokens
		Parents string
		Drop    string
		Notes   string
	}
	for name, tt := range cases.Read[row](t, "testdata/items.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, frames := listed(tt.History)
			for _, i := range tt.Big {
				history[i].Tokens = 4_000
			}
			for _, f := range tree(tt.Parents) {
				known := slices.IndexFunc(frames, func(item fold.Frame) bool { return item.ID == f.ID })
				if known < 0 {
					frames = append(frames, f)
				} else {
					frames[known].Parent = f.Parent
				}
			}
			folded := whole(history, frames)
			assert.Equal(t, tt.Drop, strings.Join(folded.Drop, " "))
			assert.Equal(t, tt.Notes, outline(folded.Before))
		})
	}
}
