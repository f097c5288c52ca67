package children_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
)

const cutShort = "(its session ended before the work was done)"

func TestASessionEndsWithItsRoot(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]struct {
		before func(f *projecttest.Fixture)
		want   []string
	}{
		"as completed, with its last message": {func(f *projecttest.Fixture) { f.Rest(s, "all green") }, []string{"completed work: all green"}},
		"as blocked in the middle of a turn":  {func(*projecttest.Fixture) {}, []string{"blocked work: " + cutShort}},
		"as blocked after another prompt": {func(f *projecttest.Fixture) { f.Rest(s, "half"); f.Prompt(s, "b", "and the rest") },
			[]string{"blocked work: " + cutShort}},
		"as blocked after a turn that was stopped": {func(f *projecttest.Fixture) {
			require.NoError(f.T, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: "half", Failed: true}))
		}, []string{"blocked work: " + cutShort}},
		"as blocked if something still ran": {func(f *projecttest.Fixture) {
			require.NoError(f.T, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: "wait", Running: []string{"shell"}}))
		}, []string{"blocked work: " + cutShort}},
		"as blocked if an agent still ran": {func(f *projecttest.Fixture) {
			f.SpawnAll(s, "look")
			require.NoError(f.T, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: "wait"}))
		}, []string{"blocked work: " + cutShort, "  blocked look: (its host no longer runs it)"}},
		"as completed once that was over": {func(f *projecttest.Fixture) {
			f.SpawnAll(s, "look")
			require.NoError(f.T, turns.End(f.Ctx, f.Project, s, turns.EndReport{LastMessage: "wait"}))
			f.EndChild(s, projecttest.Completed("look", "FOUND"))
			_, err := turns.Begin(f.Ctx, f.Project, s, turns.Prompt{ID: "n", Text: "<task-notification>"})
			require.NoError(f.T, err)
			f.Rest(s, "all green")
		}, []string{"completed work: all green", "  completed look: FOUND"}},
		"but not below what is open": {func(f *projecttest.Fixture) { f.Push(s, "piece"); f.Rest(s, "half") },
			[]string{"in_progress work", "  in_progress piece"}},
		"but not below what is planned": {func(f *projecttest.Fixture) { f.Plan(s, "", "piece"); f.Rest(s, "half") },
			[]string{"in_progress work", "  planned piece"}},
		"but not one that was ended by hand": {func(f *projecttest.Fixture) {
			f.PopAs(s, stack.PopArgs{Frame: f.Current(s), Status: core.Failed, Summary: "no way"})
			f.Rest(s, "sorry")
		}, []string{"failed work: no way"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			tt.before(f)
			for range 2 {
				f.End(s)
				f.Sweep()
				assert.Equal(t, tt.want, f.Draw())
			}
		})
	}
}

func TestATurnThatEndsAfterItsSession(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	s.Event = "Stop"
	tests := map[string]struct {
		turn  turns.EndReport
		later core.Millis // than the end of the session
		want  string
	}{
		"completes the root if it ended by itself":      {turns.EndReport{LastMessage: "all green"}, -2, "completed work: all green"},
		"completes it without words":                    {turns.EndReport{}, -2, "completed work"},
		"leaves it blocked after a failure":             {turns.EndReport{LastMessage: "half", Failed: true}, -2, "blocked work: " + cutShort},
		"leaves it blocked if something ran":            {turns.EndReport{LastMessage: "wait", Running: []string{"shell"}}, -2, "blocked work: " + cutShort},
		"belongs to a resumed session if it came later": {turns.EndReport{LastMessage: "more"}, 2, "blocked work: " + cutShort},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			root := f.Current(s)
			f.Clock += 1000
			f.End(projecttest.Host("s"))
			ended := f.Get(root).EndedAt
			late, at := *f.Project, f.Clock+tt.later
			late.Replaying, late.Now = true, func() core.Millis { return at }
			f.Clock += 1000
			for range 2 {
				require.NoError(t, turns.End(f.Ctx, &late, s, tt.turn))
				assert.Equal(t, []string{tt.want}, f.Draw())
				assert.Equal(t, ended, f.Get(root).EndedAt)
			}
			if tt.later > 0 {
				return
			}
			require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
				session, err := tx.Session("s")
				assert.Equal(t, core.SessionEnded, session.State)
				return err
			}))
			require.NoError(t, turns.NotePrompt(f.Ctx, &late, s, turns.Prompt{ID: "before that", Text: "go on", FromUser: true}))
			assert.Equal(t, []string{tt.want}, f.Draw(), "a prompt from before the end resumes nothing")
			f.Prompt(projecttest.Host("s"), "after", "go on")
			assert.Equal(t, core.InProgress, f.Get(root).Status, "but one after it does")
		})
	}
}

func TestARootEndsWithTheLastFrameLeftBelowIt(t *testing.T) {
	t.Parallel()
	s, other := projecttest.Host("s"), projecttest.Host("other")
	tests := map[string]struct {
		after func(f *projecttest.Fixture, open, planned core.Frame)
		want  []string
	}{
		"by a person": {func(f *projecttest.Fixture, open, planned core.Frame) {
			f.PopAs(projecttest.Shell, stack.PopArgs{Frame: open.ID, Status: core.Completed, Summary: "done"})
			f.Sweep()
			assert.Contains(f.T, f.Draw(), "in_progress work", "something is still planned")
			f.Invalidate(projecttest.Shell, planned.ID, "no use")
		}, []string{"completed work: half", "  completed open: done", "  invalidated planned"}},
		"by a session that took it over, with that session": {func(f *projecttest.Fixture, open, planned core.Frame) {
			f.Prompt(other, "a", "go on with what is left")
			for _, frame := range []core.Frame{open, planned} {
				f.Activate(other, frame.ID)
				f.Pop(other, "done")
				f.Sweep()
			}
			assert.Contains(f.T, f.Draw(), "in_progress work", "it is the other's now")
			assert.Equal(f.T, f.Get(open.Parent).ID, f.Current(other))
			f.Rest(other, "all green")
			f.End(other)
		}, []string{"completed work: all green", "  completed open: done", "  completed planned: done"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			planned := f.Plan(s, "", "planned")[0]
			open := f.Push(s, "open")
			f.Rest(s, "half")
			f.End(s)
			tt.after(f, open, planned)
			f.Sweep()
			got := f.Draw()
			assert.ElementsMatch(t, tt.want, got)
		})
	}
}

func TestAResumedSessionWorksInItsRootAgain(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]func(f *projecttest.Fixture){
		"with a prompt": func(f *projecttest.Fixture) { f.Prompt(s, "later", "and the rest") },
		"with a call":   func(f *projecttest.Fixture) { f.Decide(s, "", "use B") },
		"with a prompt of a host": func(f *projecttest.Fixture) {
			require.NoError(f.T, turns.NotePrompt(f.Ctx, f.Project, s, turns.Prompt{ID: "n", Text: "<note>"}))
		},
	}
	for name, resume := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			root := f.Get(f.Current(s))
			f.Rest(s, "all green")
			f.End(s)
			resume(f)
			again := f.Get(root.ID)
			assert.Equal(t, []any{core.InProgress, root.StartedAt, core.Millis(0)}, []any{again.Status, again.StartedAt, again.EndedAt})
			assert.Equal(t, root.ID, f.Current(s))
			assert.Len(t, f.All(), 1)
			assert.Equal(t, 1, count(f.Kinds(root.ID), core.FrameReopened))
			f.Rest(s, "more is green")
			f.End(s)
			assert.Equal(t, []string{"completed work: more is green"}, f.Draw())
		})
	}
}

func count(kinds []string, kind string) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

func TestOnlyARootThatEndedWithItsSessionIsResumed(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	f := projecttest.Working(t)
	root := f.Current(s)
	f.Rest(s, "all green")
	f.End(s)
	late := s
	late.Event = "PostToolUseFailure"
	require.NoError(t, stack.NoteFailure(f.Ctx, f.Project, late))
	f.Decide(project.Caller{Session: "s", Host: project.CommandLine}, root, "use B")
	assert.Equal(t, core.Completed, f.Get(root).Status, "a late event or a shell resumes nothing")
	f.Activate(projecttest.Host("other"), root)
	f.PopAs(projecttest.Host("other"), stack.PopArgs{Frame: root, Status: core.Failed, Summary: "no"})
	f.Prompt(s, "later", "try again")
	assert.Equal(t, []string{"failed work: no", "in_progress try again"}, f.Draw(), "what others ended stays ended")
}

func TestTheEndOfASessionIsNoMoveOfItsHistory(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Fold = true
	s := projecttest.Host("s")
	f.PopAs(s, stack.PopArgs{Frame: f.Current(s), Status: core.Completed, Summary: "done"})
	root := f.Push(s, "another root, by a call")
	history := []fold.Message{
		{Name: "m1", Role: core.RoleUser, Time: 1}, {Name: "m2", Role: core.RoleAssistant, Time: 2, Moves: []fold.Move{{Kind: fold.Enter, Frame: root.ID}}},
		{Name: "m3", Role: core.RoleAssistant, Time: f.Tick()}, {Name: "m4", Role: core.RoleAssistant, Time: f.Tick()},
	}
	folded := func() []string {
		history = append(history, fold.Message{Name: fmt.Sprint("m", len(history)+1), Role: core.RoleUser, Time: f.Tick()})
		a, err := turns.EditRequest(f.Ctx, f.Project, s, turns.Request{Untold: true, History: history})
		require.NoError(t, err)
		return a.Drop
	}
	f.Rest(s, "all green")
	f.End(s)
	require.Equal(t, core.Completed, f.Get(root.ID).Status)
	assert.Empty(t, folded())
	f.Prompt(s, "later", "and the rest")
	assert.Empty(t, folded())
}

func TestATakeoverLeavesNoEmptyRoot(t *testing.T) {
	t.Parallel()
	s, other := projecttest.Host("s"), projecttest.Host("other")
	f := projecttest.Working(t)
	open := f.Push(s, "open")
	f.End(s)
	f.Prompt(other, "a", "what is left?")
	f.Activate(other, open.ID)
	assert.Equal(t, []string{"in_progress work", "  in_progress open"}, f.Draw())
	f.End(other)
	assert.Equal(t, []string{"in_progress work", "  in_progress open"}, f.Draw())

	busy := projecttest.Host("busy")
	f.Prompt(busy, "a", "other work")
	f.Decide(busy, "", "use B")
	f.Activate(busy, open.ID)
	assert.Equal(t, []string{"in_progress work", "  in_progress open", "in_progress other work"}, f.Draw(), "what has something in it stays")
	f.Pop(busy, "done")
	f.Rest(busy, "all green")
	f.End(busy)
	f.Sweep()
	assert.Equal(t, []string{"completed work: all green", "  completed open: done", "completed other work: all green"}, f.Draw())
}

func TestEndingUnknownSessions(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.End(projecttest.Host("never seen"))
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Child("never seen")))
	f.Sweep()
	assert.NoDirExists(t, f.Data)
}
