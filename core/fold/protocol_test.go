package fold_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/tests/model/rules"
)

// A host's way of sending a history: results of tools in messages of their own, and what
// the host says in those of role system; or all of a round in one message.
type way struct{ apart bool }

// anyRounds makes a history as a host sends it, with a tree that may or may not fit.
func anyRounds(d dice, w way) (history []fold.Message, frames []fold.Frame) {
	_, frames = anyHistory(randomBytes(uint64(d.roll(250)), 40))
	add := func(m fold.Message) {
		m.Name, m.Time = strconv.Itoa(len(history)), core.Millis(100*len(history))
		history = append(history, m)
	}
	add(fold.Message{Role: core.RoleUser})
	for len(d) > 0 {
		answer := fold.Message{Role: core.RoleAssistant, Tokens: 1_500, Calls: []fold.Call{{ID: "c" + strconv.Itoa(len(history)), Key: "read", Tokens: 900}}}
		for range d.roll(3) {
			kind := []fold.Kind{fold.Enter, fold.Leave}[d.roll(2)]
			answer.Moves = append(answer.Moves, fold.Move{Kind: kind, Frame: d.frame(), First: len(answer.Moves) == 0 && d.roll(2) == 0})
		}
		ends := d.roll(4) == 0
		if ends {
			answer.Calls, answer.Text = nil, "done"
		}
		add(answer)
		if w.apart && !ends {
			add(fold.Message{Role: core.RoleUser, IsToolResult: true})
			if d.roll(3) == 0 {
				add(fold.Message{Role: core.RoleOther, FromHost: true, UserWords: []string{"", "WORDS" + strconv.Itoa(len(history))}[d.roll(2)]})
			}
		}
		if ends {
			add(fold.Message{Role: core.RoleUser, FromHost: d.roll(3) == 0})
		}
	}
	return history, frames
}

// sent is what the API gets of a history.
func (w way) sent(history []fold.Message, a fold.Edits) (messages []rules.Message) {
	say := func(role string, blocks ...rules.Block) {
		messages = append(messages, rules.Message{Role: role, Blocks: blocks})
	}
	text := func(s string) rules.Block { return rules.Block{Type: "text", Text: s} }
	for i, m := range history {
		for _, note := range a.Before {
			if note.Before == m.Name {
				say("user", text(note.Text))
			}
		}
		if slices.Contains(a.Drop, m.Name) {
			continue
		}
		var calls, results []rules.Block
		caller := m
		if m.IsToolResult {
			caller = history[i-1]
		}
		for _, call := range caller.Calls {
			calls = append(calls, rules.Block{Type: "tool_use", ID: call.ID})
			results = append(results, rules.Block{Type: "tool_result", CallID: call.ID, Text: "out"})
		}
		switch {
		case m.IsToolResult:
			say("user", results...)
		case m.Role == core.RoleUser:
			say("user", text("WORDS"+m.Name))
		case m.Role == core.RoleOther:
			say("system", text("host "+m.UserWords))
		default:
			say("assistant", append([]rules.Block{text("a")}, calls...)...)
			if !w.apart && len(results) > 0 {
				say("user", results...)
			}
		}
	}
	return messages
}

func checkProtocol(t *testing.T, data []byte, w way) (folds int) {
	t.Helper()
	history, frames := anyRounds(data, w)
	require.NoError(t, rules.Obeys(w.sent(history, fold.Edits{})), "the history itself")
	a := whole(history, frames)
	sent := w.sent(history, a)
	require.NoError(t, rules.Obeys(sent), "%+v", a)
	var said strings.Builder
	for _, m := range sent {
		for _, b := range m.Blocks {
			said.WriteString(b.Text + "|")
		}
	}
	for _, m := range history {
		if m.Role == core.RoleUser && !m.IsToolResult && !m.FromHost {
			require.Contains(t, said.String(), "WORDS"+m.Name+"|")
		}
		require.Contains(t, said.String(), m.UserWords)
	}
	return len(a.Drop)
}

func TestAFoldedHistoryObeysTheProtocol(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]way{"rounds in one message": {false}, "results and the host's words apart": {true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folds := 0
			for seed := range uint64(4500) {
				folds += checkProtocol(t, randomBytes(seed, 120), w)
			}
			require.Greater(t, folds, 500)
		})
	}
}

// Another model is asked, to which the host says in messages of role system what it said to the one
// before in the user's name: these were not there when the frames were folded.
func TestAFoldedHistoryObeysTheProtocolAfterAChangeOfModel(t *testing.T) {
	t.Parallel()
	w, folds := way{true}, 0
	for seed := range uint64(4000) {
		later, frames := anyRounds(randomBytes(seed, 120), w)
		before := slices.DeleteFunc(slices.Clone(later), func(m fold.Message) bool { return m.Role == core.RoleOther && m.UserWords == "" })
		known := fold.Ledger{Folds: fold.FindFolds(before, frames, fold.Ledger{}, fold.Conditions{Cold: true})}
		a := known.Edits(later, unnoted)
		require.NoError(t, rules.Obeys(w.sent(later, a)), "seed %d: %+v", seed, a)
		folds += len(a.Drop)
	}
	require.Greater(t, folds, 500)
}
