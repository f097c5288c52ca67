package project_test

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
	"flame/tests/race"
)

// endChild tells of a child's end, twice, as a host does where flame is installed
// twice.
func (f *fixture) endChild(by project.Caller, ended children.Ended) {
	f.t.Helper()
	require.NoError(f.t, children.End(f.ctx, f.Project, by, ended))
	drawn := f.draw()
	require.NoError(f.t, children.End(f.ctx, f.Project, by, ended))
	require.Equal(f.t, drawn, f.draw(), "the same again changes nothing")
}

// completed is the end of a child that said so.
func completed(child, last string) children.Ended {
	return children.Ended{Session: child, End: core.ChildCompleted, Last: last}
}

func TestEachEndOfAChildIsTold(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ended children.Ended
		want  string
		event string
	}{
		"done":                     {completed("look", "LAST"), "completed look: LAST", core.SubagentCompleted},
		"done without words":       {completed("look", ""), "completed look: (ended without a last message)", core.SubagentCompleted},
		"failed, as its call says": {children.Ended{Call: "call-look", End: core.ChildFailed, Last: "no"}, "failed look: no", core.SubagentError},
		"out of time":              {children.Ended{Session: "look", End: core.ChildTimedOut}, "failed look: (ran out of time)", core.SubagentTimeout},
		"stopped":                  {children.Ended{Session: "look", End: core.ChildCancelled}, "blocked look: (stopped before it was done)", core.SubagentCancelled},
		"lost":                     {children.Ended{Session: "look", End: core.ChildOrphaned}, "blocked look: (its host no longer runs it)", core.SubagentOrphaned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := working(t)
			f.subagents(host("s"), "look")
			frame := f.current(agent("look"))
			f.endChild(host("s"), tt.ended)
			assert.Equal(t, []string{"in_progress work", "  " + tt.want}, f.draw())
			assert.Equal(t, []string{core.FrameCreated, core.SubagentDetected, core.FrameCompleted, tt.event}, f.kinds(frame))
			assert.Empty(t, f.current(agent("look")), "it does not go on in its parent's frame")
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
			f := working(t)
			f.subagents(host("s"), "look")
			f.endChild(host("s"), children.Ended{Session: "look", End: tt.first, Last: "first"})
			f.endChild(host("s"), children.Ended{Session: "look", End: tt.then, Last: "then"})
			assert.Equal(t, []string{"in_progress work", "  " + tt.want}, f.draw())
		})
	}
}

func TestAChildThatEndsUnboundIsKnownByItsCall(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.spawn(host("s"), "call-1", "failed at once")
	f.spawn(host("s"), "call-2", "done at once")
	f.endChild(host("s"), children.Ended{Call: "call-1", End: core.ChildFailed, Last: "no"})
	f.endChild(host("s"), children.Ended{Call: "call-2", Session: "c2", End: core.ChildCompleted, Last: "yes"})
	assert.Equal(t, []string{"in_progress work", "  failed failed at once: no", "  completed done at once: yes"}, f.draw())
}

func TestAChildThatNobodyKnowsStaysUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, children.End(f.ctx, f.Project, host("s"), completed("c", "LAST")))
	assert.NoDirExists(t, f.data)
	f.prompt(host("s"), "first", "work")
	f.endChild(host("s"), completed("c", "LAST"))
	f.endChild(host("s"), completed("s", "a session is no child of its own"))
	f.endChild(host("s"), children.Ended{Call: "unknown", End: core.ChildFailed})
	assert.Equal(t, []string{"in_progress work"}, f.draw())
}

func TestWhatAChildPushedEndsWithIt(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "look")
	f.push(agent("look"), "closer")
	f.push(agent("look"), "closest")
	f.endChild(host("s"), children.Ended{Session: "look", End: core.ChildFailed, Last: "no"})
	assert.Equal(t, []string{"in_progress work", "  failed look: no", "    failed closer", "      failed closest"}, f.draw())
	_, err := stack.Pop(f.ctx, f.Project, host("s"), stack.PopArgs{Frame: f.current(host("s")), Status: core.Completed})
	require.NoError(t, err, "nothing below it is left open")
}

func TestWhatAChildBeginsAfterItsFrameEndsWithItToo(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "look")
	f.pop(agent("look"), "its own words")
	f.push(agent("look"), "one more")
	f.endChild(host("s"), completed("look", "LAST"))
	assert.Equal(t, []string{"in_progress work", "  completed look: its own words", "  completed one more: LAST"}, f.draw())
}

func TestAFrameWaitsForOthersBelowIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meanwhile func(f *fixture)
		want      []string // of the child and the one below it
	}{
		"until they are done": {func(*fixture) {}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"also when its host has let it go": {func(f *fixture) {
			require.NoError(f.t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: []string{"inner"}}))
		}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"and with them when the session ends": {func(f *fixture) {
			require.NoError(f.t, children.EndSession(f.ctx, f.Project, host("s")))
		}, []string{"  failed outer: no", "    completed inner: LAST"}},
		"unless it was done after all": {func(f *fixture) { f.endChild(host("s"), completed("outer", "yes")) },
			[]string{"  completed outer: yes", "    completed inner: LAST"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := working(t)
			f.subagents(host("s"), "outer")
			f.subagents(agent("outer"), "inner")
			f.endChild(host("s"), children.Ended{Session: "outer", End: core.ChildFailed, Last: "no"})
			assert.Contains(t, f.draw(), "  in_progress outer", "it is not over while inner works")
			tt.meanwhile(f)
			f.endChild(agent("outer"), completed("inner", "LAST"))
			assert.Equal(t, append([]string{"in_progress work"}, tt.want...), f.draw())
		})
	}
}

func TestAFinishedChildGoesOnBesideItsFrame(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "look")
	goOn := func() string {
		context, err := children.Continue(f.ctx, f.Project, host("s"), "look", 0)
		require.NoError(t, err)
		return context
	}
	assert.Empty(t, goOn(), "it is at work")
	f.endChild(host("s"), completed("look", "LAST"))
	assert.Contains(t, goOn(), "look (continued)")
	assert.Empty(t, goOn(), "it has been told")
	f.push(agent("look"), "deeper")
	f.endChild(host("s"), completed("look", "LAST 2"))
	goOn()
	assert.Equal(t, []string{
		"in_progress work", "  completed look: LAST", "  completed look (continued): LAST 2", "    completed deeper", "  in_progress look (continued)",
	}, f.draw(), "not continued twice over")
	context, err := children.Continue(f.ctx, f.Project, host("s"), "unknown", 0)
	require.NoError(t, err)
	assert.Empty(t, context)
}

func TestAChildGoesOnBelowWhatItsParentWorksInNow(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "look")
	f.endChild(host("s"), completed("look", "LAST"))
	_, err := stack.Pop(f.ctx, f.Project, host("s"), stack.PopArgs{Frame: f.current(host("s")), Status: core.Completed})
	require.NoError(t, err)
	f.prompt(host("s"), "next", "more work")
	_, err = children.Continue(f.ctx, f.Project, host("s"), "look", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"completed work", "  completed look: LAST", "in_progress more work", "  in_progress look (continued)"}, f.draw())
}

func TestTheLastWordsOfAChildThatFellIdleAreItsSummary(t *testing.T) {
	t.Parallel()
	f := working(t)
	frame := f.startChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{LastMessage: "that was it"}))
	f.clock += 6_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, "that was it", f.get(frame).Summary)
}

func TestNobodyCompletesAChildOverTheWorkOfOthers(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "outer")
	f.subagents(agent("outer"), "inner")
	_, err := children.Complete(f.ctx, f.Project, host("s"), "outer", core.Completed, "done")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = children.Complete(f.ctx, f.Project, host("s"), "inner", core.Completed, "done")
	require.NoError(t, err)
	_, err = children.Complete(f.ctx, f.Project, host("s"), "outer", core.Completed, "done")
	require.NoError(t, err)
	assert.Equal(t, []string{"in_progress work", "  completed outer: done", "    completed inner: done"}, f.draw())
}

// TestAnySequenceOfHostEventsKeepsTheTreeTrue plays random events of two sessions
// with children, each twice, and looks at the tree after each.
func TestAnySequenceOfHostEventsKeepsTheTreeTrue(t *testing.T) {
	t.Parallel()
	for seed := range race.Seeds(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range 100 {
				what, play := randomEvent(f, r, i)
				require.NoError(t, play(), what)
				once := f.draw()
				require.NoError(t, play(), what)
				require.Equal(t, once, f.draw(), "seed %d, step %d: %s again", seed, i, what)
				f.checkPlaces(fmt.Sprintf("seed %d, step %d: %s", seed, i, what))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// randomEvent returns an event of a host: of one of two sessions, or of one of
// their children. The third is that of the first.
func randomEvent(f *fixture, r *rand.Rand, i int) (what string, play func() error) {
	session := []string{"s", "other"}[r.IntN(2)]
	mine := host(session)
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
			_, err := turns.Begin(f.ctx, f.Project, mine, turns.Prompt{ID: fmt.Sprint(i), Text: "Work on this", FromUser: true})
			return err
		}},
		{"child asked", func() error {
			_, err := children.Spawn(f.ctx, f.Project, asker, children.Call{ID: "call-" + one, Description: one, AgentType: "general"})
			return err
		}},
		{"child known", func() error { _, err := children.Bind(f.ctx, f.Project, asker, "call-"+one, one); return err }},
		{"child writes", func() error {
			return autonomy.NoteFiles(f.ctx, f.Project, project.Caller{Session: one, Parent: session, Host: "claude-code", Trust: project.Stamped}, []string{one})
		}},
		{"child ends", func() error { return children.End(f.ctx, f.Project, mine, ended) }},
		{"child's call ends", func() error {
			ended.Call = "call-" + one
			return children.End(f.ctx, f.Project, asker, ended)
		}},
		{"child goes on", func() error { _, err := children.Continue(f.ctx, f.Project, mine, one, 0); return err }},
		{"turn ends", func() error {
			return turns.End(f.ctx, f.Project, mine, turns.Turn{LastMessage: "last", Running: running})
		}},
		{"session ends", func() error { return children.EndSession(f.ctx, f.Project, mine) }},
		{"session goes on", func() error { _, err := briefing.Begin(f.ctx, f.Project, mine, 0); return err }},
	}
	event := events[r.IntN(len(events))]
	return event.what + " " + one, event.play
}

// checkPlaces asserts that nothing finished stands over work in progress, that
// only sessions of people have roots, and that each works in its own tree.
func (f *fixture) checkPlaces(what string) {
	f.t.Helper()
	all := map[string]core.Frame{}
	for _, frame := range f.all() {
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
			assert.Equal(f.t, core.InProgress, above.Status, "%s: %s stands over %s", what, above.Goal, frame.Goal)
		}
		root := rootOf(frame)
		assert.Empty(f.t, root.Parent, "%s: a loop above %s", what, frame.Goal)
		if frame.Session != "" && root.Session != "" {
			family, _, _ := strings.Cut(frame.Session, "-")
			rootFamily, _, _ := strings.Cut(root.Session, "-")
			assert.Equal(f.t, rootFamily, family, "%s: %s is in another's tree", what, frame.Goal)
		}
	}
}
