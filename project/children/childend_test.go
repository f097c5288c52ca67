package children_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/tests/projecttest"
)

func TestEachEndOfAChildHasItsEvent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ended children.Ended
		want  string
		event string
	}{
		"done":                     {projecttest.Completed("look", "LAST"), "completed look: LAST", core.SubagentCompleted},
		"done without words":       {projecttest.Completed("look", ""), "completed look: (ended without a last message)", core.SubagentCompleted},
		"failed, as its call says": {children.Ended{Call: "call-look", End: core.ChildFailed, Last: "no"}, "failed look: no", core.SubagentError},
		"out of time":              {children.Ended{Session: "look", End: core.ChildTimedOut}, "failed look: (ran out of time)", core.SubagentTimeout},
		"stopped": {children.Ended{Session: "look", End: core.ChildCancelled}, "blocked look: (stopped before it was finished)",
			core.SubagentCancelled},
		"lost": {children.Ended{Session: "look", End: core.ChildOrphaned}, "blocked look: (its host no longer runs it)", core.SubagentOrphaned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			f.SpawnAll(projecttest.Host("s"), "look")
			frame := f.Current(projecttest.Agent("look"))
			f.EndChild(projecttest.Host("s"), tt.ended)
			assert.Equal(t, []string{"in_progress work", "  " + tt.want}, f.Draw())
			assert.Equal(t, []string{core.FrameCreated, core.SubagentDetected, core.FrameCompleted, tt.event}, f.Kinds(frame))
			assert.Empty(t, f.Current(projecttest.Agent("look")), "it does not go on in its parent's frame")
		})
	}
}

func TestAnEndIsOverruledOnlyByTheWorkItself(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first, then core.ChildEnd
		want        string
	}{
		"lost, but done after all":    {core.ChildOrphaned, core.ChildCompleted, "completed look: then"},
		"stopped, but done by then":   {core.ChildCancelled, core.ChildCompleted, "completed look: then"},
		"done, and then lost":         {core.ChildCompleted, core.ChildOrphaned, "completed look: first"},
		"failed, and then lost":       {core.ChildFailed, core.ChildOrphaned, "failed look: first"},
		"failed, and its parent goes": {core.ChildFailed, core.ChildCancelled, "failed look: first"},
		"failed stays failed":         {core.ChildFailed, core.ChildCompleted, "failed look: first"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			f.SpawnAll(projecttest.Host("s"), "look")
			f.EndChild(projecttest.Host("s"), children.Ended{Session: "look", End: tt.first, Last: "first"})
			f.EndChild(projecttest.Host("s"), children.Ended{Session: "look", End: tt.then, Last: "then"})
			assert.Equal(t, []string{"in_progress work", "  " + tt.want}, f.Draw())
		})
	}
}

func TestAChildThatEndsUnboundIsKnownByItsCall(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Spawn(projecttest.Host("s"), "call-1", "failed at once")
	f.Spawn(projecttest.Host("s"), "call-2", "done at once")
	f.EndChild(projecttest.Host("s"), children.Ended{Call: "call-1", End: core.ChildFailed, Last: "no"})
	f.EndChild(projecttest.Host("s"), children.Ended{Call: "call-2", Session: "c2", End: core.ChildCompleted, Last: "yes"})
	assert.Equal(t, []string{"in_progress work", "  failed failed at once: no", "  completed done at once: yes"}, f.Draw())
}

func TestAnUnknownChildStaysUnknown(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	require.NoError(t, children.End(f.Ctx, f.Project, projecttest.Host("s"), projecttest.Completed("c", "LAST")))
	assert.NoDirExists(t, f.Data)
	f.Prompt(projecttest.Host("s"), "first", "work")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("c", "LAST"))
	f.EndChild(projecttest.Host("s"), projecttest.Completed("s", "a session is no child of its own"))
	f.EndChild(projecttest.Host("s"), children.Ended{Call: "unknown", End: core.ChildFailed})
	assert.Equal(t, []string{"in_progress work"}, f.Draw())
}

func TestFramesThatAChildPushedEndWithIt(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "look")
	f.Push(projecttest.Agent("look"), "closer")
	f.Push(projecttest.Agent("look"), "closest")
	f.EndChild(projecttest.Host("s"), children.Ended{Session: "look", End: core.ChildFailed, Last: "no"})
	assert.Equal(t, []string{"in_progress work", "  failed look: no", "    failed closer", "      failed closest"}, f.Draw())
	_, err := stack.Pop(f.Ctx, f.Project, projecttest.Host("s"), stack.PopArgs{Frame: f.Current(projecttest.Host("s")), Status: core.Completed})
	require.NoError(t, err, "nothing below it is left open")
}

func TestFramesThatAChildBeginsAfterItsOwnEndWithItToo(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "look")
	f.Pop(projecttest.Agent("look"), "its own words")
	f.Push(projecttest.Agent("look"), "one more")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("look", "LAST"))
	assert.Equal(t, []string{"in_progress work", "  completed look: its own words", "  completed one more: LAST"}, f.Draw())
}

func TestAFrameWaitsForOthersBelowIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meanwhile func(f *projecttest.Fixture)
		want      []string // of the child and the one below it
	}{
		"until they are done": {func(*projecttest.Fixture) {}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"also when its host has let it go": {func(f *projecttest.Fixture) {
			require.NoError(f.T, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.Turn{Running: []string{"inner"}}))
		}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"and with them when the session ends": {func(f *projecttest.Fixture) {
			require.NoError(f.T, children.EndSession(f.Ctx, f.Project, projecttest.Host("s")))
		}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"unless it was done after all": {func(f *projecttest.Fixture) { f.EndChild(projecttest.Host("s"), projecttest.Completed("outer", "yes")) },
			[]string{"  completed outer: yes", "    completed inner: LAST"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			f.SpawnAll(projecttest.Host("s"), "outer")
			f.SpawnAll(projecttest.Agent("outer"), "inner")
			f.EndChild(projecttest.Host("s"), children.Ended{Session: "outer", End: core.ChildFailed, Last: "no"})
			assert.Contains(t, f.Draw(), "  in_progress outer", "it is not over while inner works")
			tt.meanwhile(f)
			f.EndChild(projecttest.Agent("outer"), projecttest.Completed("inner", "LAST"))
			assert.Equal(t, tt.want, f.Draw()[1:])
		})
	}
}

func TestAFinishedChildContinuesBesideItsFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "look")
	goOn := func() string {
		context, err := children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "look", 0)
		require.NoError(t, err)
		return context
	}
	assert.Empty(t, goOn(), "it is at work")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("look", "LAST"))
	assert.Contains(t, goOn(), "look (continued)")
	assert.Empty(t, goOn(), "it has been told")
	f.Push(projecttest.Agent("look"), "deeper")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("look", "LAST 2"))
	goOn()
	assert.Equal(t, []string{
		"in_progress work", "  completed look: LAST", "  completed look (continued): LAST 2", "    completed deeper", "  in_progress look (continued)",
	}, f.Draw(), "not continued twice over")
	context, err := children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "unknown", 0)
	require.NoError(t, err)
	assert.Empty(t, context)
}

func TestAChildContinuesBelowItsParentsCurrentFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "look")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("look", "LAST"))
	_, err := stack.Pop(f.Ctx, f.Project, projecttest.Host("s"), stack.PopArgs{Frame: f.Current(projecttest.Host("s")), Status: core.Completed})
	require.NoError(t, err)
	f.Prompt(projecttest.Host("s"), "next", "more work")
	_, err = children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "look", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"completed work", "  completed look: LAST", "in_progress more work", "  in_progress look (continued)"}, f.Draw())
}

func TestTheLastWordsOfAChildThatFellIdleAreItsSummary(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	frame := f.StartChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.Turn{LastMessage: "that was it"}))
	f.Clock += 6_000
	require.NoError(t, sweep.Once(f.Ctx, f.Project))
	assert.Equal(t, "that was it", f.Get(frame).Summary)
}

func TestAChildIsNotCompletedOverTheWorkOfOthers(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "outer")
	f.SpawnAll(projecttest.Agent("outer"), "inner")
	_, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "outer", core.Completed, "done")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "inner", core.Completed, "done")
	require.NoError(t, err)
	_, err = children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "outer", core.Completed, "done")
	require.NoError(t, err)
	assert.Equal(t, []string{"in_progress work", "  completed outer: done", "    completed inner: done"}, f.Draw())
}

// TestAnySequenceOfHostEventsKeepsTheTreeTrue plays random events of two sessions
// with children, each twice, and looks at the tree after each.
func TestAnySequenceOfHostEventsKeepsTheTreeTrue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range 100 {
				what, play := randomEvent(f, r, i)
				require.NoError(t, play(), what)
				once := f.Draw()
				require.NoError(t, play(), what)
				require.Equal(t, once, f.Draw(), "seed %d, step %d: %s again", seed, i, what)
				checkPlaces(f, fmt.Sprintf("seed %d, step %d: %s", seed, i, what))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// randomEvent returns an event of a host: of one of two sessions, or of one of
// their children. The third is that of the first.
func randomEvent(f *projecttest.Fixture, r *rand.Rand, i int) (what string, play func() error) {
	session := []string{"s", "other"}[r.IntN(2)]
	mine := projecttest.Host(session)
	started := []string{session + "-1", session + "-2", session + "-3"}
	one := started[r.IntN(3)]
	asker := mine
	if one == started[2] {
		asker = project.Caller{Session: started[0], Parent: session, Host: "claude-code", Trust: project.Stamped}
	}
	ended := children.Ended{Session: one, End: []core.ChildEnd{core.ChildCompleted, core.ChildFailed, core.ChildCancelled}[r.IntN(3)], Last: "last"}
	running := started[:r.IntN(2)]
	events := []struct {
		what string
		play func() error
	}{
		{"prompt", func() error {
			_, err := turns.Begin(f.Ctx, f.Project, mine, turns.Prompt{ID: fmt.Sprint(i), Text: "Work on this", FromUser: true})
			return err
		}},
		{"child asked", func() error {
			_, err := children.Spawn(f.Ctx, f.Project, asker, children.Call{ID: "call-" + one, Description: one, AgentType: "general"})
			return err
		}},
		{"child known", func() error {
			_, err := children.Bind(f.Ctx, f.Project, asker, children.Start{Call: "call-" + one, Session: one})
			return err
		}},
		{"child writes", func() error {
			return autonomy.NoteFiles(f.Ctx, f.Project, project.Caller{Session: one, Parent: session, Host: "claude-code", Trust: project.Stamped}, []string{one})
		}},
		{"child ends", func() error { return children.End(f.Ctx, f.Project, mine, ended) }},
		{"child's call ends", func() error {
			ended.Call = "call-" + one
			return children.End(f.Ctx, f.Project, asker, ended)
		}},
		{"child goes on", func() error { _, err := children.Continue(f.Ctx, f.Project, mine, one, 0); return err }},
		{"turn ends", func() error {
			return turns.End(f.Ctx, f.Project, mine, turns.Turn{LastMessage: "last", Running: running})
		}},
		{"session ends", func() error { return children.EndSession(f.Ctx, f.Project, mine) }},
		{"session goes on", func() error { _, err := briefing.Begin(f.Ctx, f.Project, mine, 0); return err }},
	}
	event := events[r.IntN(len(events))]
	return event.what + " " + one, event.play
}

// checkPlaces asserts that nothing finished stands over work in progress, that
// only sessions of people have roots, and that each works in its own tree.
func checkPlaces(f *projecttest.Fixture, what string) {
	f.T.Helper()
	all := map[string]core.Frame{}
	for _, frame := range f.All() {
		all[frame.ID] = frame
	}
	rootOf := func(frame core.Frame) core.Frame {
		for range all {
			if above, ok := all[frame.Parent]; ok {
				frame = above
			}
		}
		return frame
	}
	for _, frame := range all {
		if above, ok := all[frame.Parent]; ok && frame.Status == core.InProgress {
			assert.Equal(f.T, core.InProgress, above.Status, "%s: %s stands over %s", what, above.Goal, frame.Goal)
		}
		root := rootOf(frame)
		assert.Empty(f.T, root.Parent, "%s: a loop above %s", what, frame.Goal)
		if frame.Session != "" && root.Session != "" {
			family, _, _ := strings.Cut(frame.Session, "-")
			rootFamily, _, _ := strings.Cut(root.Session, "-")
			assert.Equal(f.T, rootFamily, family, "%s: %s is in another's tree", what, frame.Goal)
		}
	}
}
