package turns_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/turns"
	"flame/tests/projecttest"
)

// answered appends an answer to a history, made now.
func answered(f *projecttest.Fixture, history []fold.Message, name string) []fold.Message {
	return append(history, fold.Message{Name: name, Role: core.RoleAssistant, Tokens: 10, Time: f.Tick()})
}

// request returns how a request of a history is sent; editions are those of the requests
// that its answers belong to, as the host knows them.
func request(f *projecttest.Fixture, by project.Caller, history []fold.Message, editions map[core.Millis]int) fold.Edits {
	f.T.Helper()
	a, err := turns.EditRequest(f.Ctx, f.Project, by, turns.Request{History: history, Editions: editions})
	require.NoError(f.T, err)
	return a.Edits
}

func TestATextThatMissedItsRequestFollowsIt(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for name, late := range map[string]bool{"flame was too late": true, "it was sent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Prompt(s, "m0", "work")
			frame := f.Push(s, "piece")
			history := projecttest.Asked("m1")
			request(f, s, history, nil)
			f.Decide(projecttest.Shell, frame.ID, "someone else decides")
			history = append(answered(f, history, "a1"), fold.Message{Name: "m2", Role: core.RoleUser, Time: f.Tick()})
			first := request(f, s, history, nil)
			require.Len(t, first.After, 2, "with the context beside the first prompt")
			require.Equal(t, "m2", first.After[1].Message)

			history = answered(f, history, "a2")
			editions := map[core.Millis]int{history[3].Time: first.Edition}
			place := "m2"
			if late {
				editions[history[3].Time], place = first.Edition-1, "a2"
			}
			second := request(f, s, history, editions)
			require.Len(t, second.After, 2)
			assert.Equal(t, place, second.After[1].Message)
			assert.Equal(t, first.After[1].Text, second.After[1].Text)
			assert.Equal(t, []string{"a1"}, second.DropThinking, "flame has not seen how that request asked for thinking; nothing else has changed")
			history = answered(f, history, "a3")
			third := request(f, s, history, map[core.Millis]int{history[4].Time: second.Edition})
			assert.Equal(t, second.After, third.After, "there it stays")
		})
	}
}

// inFrames plays a session that ended a piece of work, and what it has said since.
func inFrames(t *testing.T) (f *projecttest.Fixture, history []fold.Message) {
	t.Helper()
	f = projecttest.New(t)
	f.Fold = true
	s := projecttest.Host("s")
	f.Push(s, "root")
	frame := f.Push(s, "work")
	f.Pop(s, "done")
	return f, folded(frame.ID)
}

func TestThinkingGoesWithThePastThatItWasMadeWith(t *testing.T) {
	t.Parallel()
	f, history := inFrames(t)
	s := projecttest.Host("s")
	first := request(f, s, history, map[core.Millis]int{2: 0, 3: 0, 4: 0})
	assert.Equal(t, []string{"a2", "a3"}, first.Drop)
	assert.Equal(t, []string{"a4"}, first.DropThinking)
	history = answered(f, history, "a5")
	second := request(f, s, history, map[core.Millis]int{history[4].Time: first.Edition})
	assert.Equal(t, []string{"a4"}, second.DropThinking, "a5 was made with the folded past")

	f.Fold = false
	whole := request(f, s, history, nil)
	assert.Empty(t, whole.Drop)
	assert.Equal(t, []string{"a5"}, whole.DropThinking, "a4 was made with the whole past")
	f.Fold = true
	assert.Equal(t, second.Drop, request(f, s, history, nil).Drop, "what was folded is again")

	history = answered(f, history, "a6")
	assert.Equal(t, []string{"a4", "a6"}, request(f, s, history, nil).DropThinking, "flame has not seen how the request of a6 asked for thinking")
}

func TestABranchIsFoldedAsItsOriginWas(t *testing.T) {
	t.Parallel()
	f, history := inFrames(t)
	s, branch := projecttest.Host("s"), projecttest.Host("branch")
	first := request(f, s, history, map[core.Millis]int{2: 0, 3: 0, 4: 0})
	history = answered(f, history, "a5")
	want := request(f, s, history, map[core.Millis]int{history[4].Time: first.Edition})

	f.Prompt(branch, "b1", "another way")
	history = append(history, fold.Message{Name: "b1", Role: core.RoleUser, Time: f.Tick()})
	got := request(f, branch, history, nil)
	assert.Equal(t, want.Drop, got.Drop)
	assert.Equal(t, want.DropThinking, got.DropThinking)
	assert.Equal(t, want.After, got.After, "its history has what its origin was told")
}
