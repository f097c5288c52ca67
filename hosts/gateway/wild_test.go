package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/gateway"
	"flame/project/stack"
	"flame/tests/model"
	"flame/tests/projecttest"
)

// A wild is a session in which anything happens.
type wild struct {
	*talk
	dice   *rand.Rand
	things int // that were said so far
}

// whatever is a model that does one thing after another.
func (w *wild) whatever(model.Request) model.Turn {
	w.things++
	turn := model.Turn{Thinking: fmt.Sprint("thought ", w.things)}
	switch w.dice.IntN(8) {
	case 0:
		turn.Tools = push(fmt.Sprint("goal ", w.things)).Tools
	case 1:
		turn.Tools = pop(fmt.Sprint("did ", w.things)).Tools
	case 2:
		turn.Tools = append(read("x").Tools, read("y").Tools...)
	case 3:
		turn.Tools = append(read("x").Tools, pop("did beside").Tools...)
	case 4, 5:
		turn.Text = []string{"Done.", "ok", fmt.Sprint("words ", w.things)}[w.dice.IntN(3)]
	default:
		turn.Tools = read(fmt.Sprint("f", w.dice.IntN(3))).Tools
	}
	return turn
}

// word is what the user says next; it is looked for in the requests.
func (w *wild) word() string {
	w.things++
	return fmt.Sprintf("SAID-%d-", w.things)
}

// listen has the host and the user say something while the model works.
func (w *wild) listen() {
	switch w.dice.IntN(12) {
	case 0:
		w.hostSays("PostToolUse hook additional context: ok")
	case 1:
		w.hostSays(meanwhile + w.word())
	}
}

// interrupt has the user say something beside the results of tools.
func (w *wild) interrupt() []any {
	if w.dice.IntN(8) > 0 {
		return nil
	}
	return []any{object{"type": "text", "text": "[Request interrupted by user for tool use]"}, object{"type": "text", "text": w.word()}}
}

// prompts are the places of the user's prompts, but for the first.
func (w *wild) prompts() (at []int) {
	for i, m := range w.history {
		if i > 0 && m.(object)["role"] == "user" && w.history[i-1].(object)["role"] == "assistant" && !calls(w.history[i-1].(object)) {
			at = append(at, i)
		}
	}
	return at
}

func calls(m object) bool {
	return slices.ContainsFunc(m["content"].([]any), func(b any) bool { return b.(object)["type"] == "tool_use" })
}

func (w *wild) summary() object {
	w.things++
	text := fmt.Sprint("This session is being continued from a previous conversation. ", w.things)
	return object{"role": "user", "content": []any{object{"type": "text", "text": text}}}
}

// happen has something happen between two prompts.
func (w *wild) happen() {
	at := w.prompts()
	some := 0
	if len(at) > 0 {
		some = at[w.dice.IntN(len(at))]
	}
	switch what := w.dice.IntN(16); {
	case what == 0:
		w.start(gateway.Options{Folding: gateway.FoldOn})
	case what == 1:
		w.faults.set(full)
	case what == 2:
		w.faults.set(gone)
	case what == 3:
		w.history = append(w.history, object{"role": "user", "content": []any{object{"type": "text", "text": "<task-notification>x"}}})
	case what == 4: // by hand
		_, _ = stack.Pop(w.f.Ctx, w.f.Project, projecttest.Host(w.session), stack.PopArgs{Status: core.Completed, Summary: "by hand"})
	case some == 0:
	case what == 5: // it is cut short
		w.history = w.history[:some]
	case what == 6: // and summarised, but for its end
		w.history = append([]any{w.summary()}, w.history[some:]...)
	case what == 7: // or but for its beginning
		w.history = append(w.history[:some:some], w.summary())
	case what == 8: // or but for the last answer
		w.history = []any{w.summary(), w.history[some-1]}
	case what == 9: // it is branched
		w.session = fmt.Sprint("branch-", w.things)
		w.history = slices.Clone(w.history[:some])
		w.f.Prompt(projecttest.Host(w.session), w.session, "another way")
	}
}

// heard checks that all that the user has said is in the newest request.
func (w *wild) heard() {
	w.t.Helper()
	var sent strings.Builder
	for _, m := range w.newest().Messages {
		sent.WriteString(m.Text + "\n")
	}
	for _, m := range w.history {
		for _, b := range m.(object)["content"].([]any) {
			text, _ := b.(object)["text"].(string)
			if _, words, said := strings.Cut(text, "SAID-"); said {
				require.Contains(w.t, sent.String(), "SAID-"+words)
			}
		}
	}
}

// TestNothingIsEverRefusedOrUnheard plays random sessions: gateways come and go, the store
// fails for a while, the conversation is cut short, compacted and branched.
func TestNothingIsEverRefusedOrUnheard(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := &wild{dice: rand.New(rand.NewPCG(seed, 7))}
			w.talk = newTalk(t, slices.Repeat([]model.Turn{{From: w.whatever}}, 300)...)
			w.beside, w.behind = w.interrupt, w.listen
			w.f.Trim = []fold.TrimMode{fold.TrimOff, fold.TrimOld, fold.TrimSuperseded}[seed%3]
			w.start(gateway.Options{Folding: gateway.FoldOn})
			w.f.Prompt(projecttest.Host(w.session), "p0", "work")
			for step := range 14 {
				w.faults.set(fine)
				w.happen()
				w.say(w.word())
				w.round()
				require.Zero(t, w.judge.Stats().Rejected, "step %d: %v", step, w.judge.Reasons())
				w.heard()
			}
		})
	}
}
