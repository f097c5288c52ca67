package children_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
)

func TestEachEndOfAChildHasItsEvent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ended children.EndReport
		want  string
		event string
	}{
		"done":                     {projecttest.Completed("look", "LAST"), "completed look: LAST", core.SubagentCompleted},
		"done without words":       {projecttest.Completed("look", ""), "completed look: (ended without a last message)", core.SubagentCompleted},
		"failed, as its call says": {children.EndReport{Call: "call-look", End: core.ChildFailed, Last: "no"}, "failed look: no", core.SubagentError},
		"out of time":              {children.EndReport{Session: "look", End: core.ChildTimedOut}, "failed look: (ran out of time)", core.SubagentTimeout},
		"stopped": {children.EndReport{Session: "look", End: core.ChildCancelled}, "blocked look: (stopped before it was finished)",
			core.SubagentCancelled},
		"lost": {children.EndReport{Session: "look", End: core.ChildOrphaned}, "blocked look: (its host no longer runs it)", core.SubagentOrphaned},
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
			f.EndChild(projecttest.Host("s"), children.EndReport{Session: "look", End: tt.first, Last: "first"})
			f.EndChild(projecttest.Host("s"), children.EndReport{Session: "look", End: tt.then, Last: "then"})
			assert.Equal(t, []string{"in_progress work", "  " + tt.want}, f.Draw())
		})
	}
}

func TestAChildThatEndsUnboundIsKnownByItsCall(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Spawn(projecttest.Host("s"), "call-1", "failed at once")
	f.Spawn(projecttest.Host("s"), "call-2", "done at once")
	f.EndChild(projecttest.Host("s"), children.EndReport{Call: "call-1", End: core.ChildFailed, Last: "no"})
	f.EndChild(projecttest.Host("s"), children.EndReport{Call: "call-2", Session: "c2", End: core.ChildCompleted, Last: "yes"})
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
	f.EndChild(projecttest.Host("s"), children.EndReport{Call: "unknown", End: core.ChildFailed})
	assert.Equal(t, []string{"in_progress work"}, f.Draw())
}

func TestFramesThatAChildPushedEndWithIt(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "look")
	f.Push(projecttest.Agent("look"), "closer")
	f.Push(projecttest.Agent("look"), "closest")
	f.EndChild(projecttest.Host("s"), children.EndReport{Session: "look", End: core.ChildFailed, Last: "no"})
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
			require.NoError(f.T, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: []string{"inner"}}))
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
			f.EndChild(projecttest.Host("s"), children.EndReport{Session: "outer", End: core.ChildFailed, Last: "no"})
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
	f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: f.Current(projecttest.Host("s")), Status: core.Completed})
	f.Prompt(projecttest.Host("s"), "next", "more work")
	_, err := children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "look", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"completed work", "  completed look: LAST", "in_progress more work", "  in_progress look (continued)"}, f.Draw())
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
