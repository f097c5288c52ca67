package stack_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestFirstPushOfASessionMakesItsRootToo(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("0123456789abcdef"), "Fix the login")

	root := f.Get(frame.Parent)
	assert.Equal(t, "Session 01234567", root.Goal)
	assert.True(t, root.GoalIsDefault)
	assert.Empty(t, root.Parent)
	assert.Equal(t, core.InProgress, root.Status)
	assert.Equal(t, frame.ID, f.Current(projecttest.Host("0123456789abcdef")))
	assert.Equal(t, []string{core.FrameCreated}, f.Kinds(frame.ID))
}

func TestReadsMakeNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	_, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{})
	require.NoError(t, err)
	_, err = f.Contexts.Context(f.Ctx, projecttest.Host("s"), "", 0)
	require.ErrorIs(t, err, core.ErrNotFound)
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Zero(t, stats.Total)
	assert.Empty(t, stats.Sessions)
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("s")))
	assert.NoDirExists(t, f.Data, "not even the data folder")
}

func TestPopRefusesFramesThatItMustNotEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args stack.PopArgs
		says string
	}{
		"a root without its id":           {stack.PopArgs{Status: core.Completed}, "root"},
		"a status that ends nothing":      {stack.PopArgs{Status: core.Planned}, "cannot end a frame"},
		"a planned frame":                 {stack.PopArgs{Status: core.Completed, Frame: "plan-00000002"}, "is planned"},
		"a frame that is not there":       {stack.PopArgs{Status: core.Completed, Frame: "frame-none"}, "not found"},
		"a confidence beyond one":         {stack.PopArgs{Status: core.Completed, Confidence: new(1.5)}, "out of range"},
		"a summary that is no text":       {stack.PopArgs{Status: core.Completed, Summary: "a\x00b"}, "not UTF-8"},
		"a summary beyond all reason":     {stack.PopArgs{Status: core.Completed, Summary: strings.Repeat("x", 2<<20)}, "limit"},
		"a frame with children at work":   {stack.PopArgs{Status: core.Completed, Frame: "frame-00000001"}, "frame-00000003"},
		"a frame that has ended that way": {stack.PopArgs{Status: core.Completed, Frame: "frame-00000004"}, "is completed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Plan(projecttest.Host("s"), "", "later")    // frame-1 the root, plan-2
			f.Push(projecttest.Host("s"), "child")        // frame-3
			done := f.Push(projecttest.Host("s"), "done") // frame-4
			f.Pop(projecttest.Host("s"), "")              // ends frame-4
			_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), "frame-00000003", false)
			require.NoError(t, err)
			if tt.args.Frame == "" && tt.says == "root" {
				f.Pop(projecttest.Host("s"), "") // leaves the root as the current frame
			}
			before := f.Get(done.ID)

			_, err = stack.Pop(f.Ctx, f.Project, projecttest.Host("s"), tt.args)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.Contains(t, problem.Message, tt.says)
			assert.NotEmpty(t, problem.Hint)
			assert.Equal(t, before, f.Get(done.ID))
		})
	}
}

func TestPopByIDMovesTheCurrentFrameOnlyOutOfTheEndedFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	a := f.Push(projecttest.Host("s"), "a")
	b := f.Push(projecttest.Host("s"), "b")
	c := f.Push(projecttest.Host("s"), "c")

	popped := f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: b.ID, Status: core.Failed, Force: true})
	assert.Equal(t, a.ID, popped.Current, "the current frame was below the one that ended")
	assert.Equal(t, []string{c.ID}, projecttest.IDs(popped.Open))

	f.Push(projecttest.Host("s"), "d")
	current := f.Current(projecttest.Host("s"))
	f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: c.ID, Status: core.Blocked})
	assert.Equal(t, current, f.Current(projecttest.Host("s")), "what lies elsewhere ends without moving it")
}

func TestPopOfARootEndsTheTreeAndPushBeginsAnother(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	first := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "")
	root := first.Parent
	popped := f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: root, Status: core.Completed})
	assert.Nil(t, popped.Parent)
	assert.Empty(t, popped.Current)
	assert.Empty(t, f.Current(projecttest.Host("s")))

	_, _, err := stack.AddDecision(f.Ctx, f.Project, projecttest.Host("s"), "", "too late")
	require.ErrorIs(t, err, core.ErrNotFound, "only push begins another tree")

	again := f.Push(projecttest.Host("s"), "more")
	assert.Empty(t, again.Parent)
	assert.False(t, again.GoalIsDefault)
}

func TestAFrameThatAnotherSessionEndedIsLeftBehind(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	outer := f.Push(projecttest.Host("a"), "outer")
	inner := f.Push(projecttest.Host("a"), "inner")
	f.PopAs(projecttest.Host("b"), stack.PopArgs{Frame: inner.ID, Status: core.Completed})
	assert.Equal(t, outer.ID, f.Current(projecttest.Host("a")))
	assert.Equal(t, outer.ID, f.Push(projecttest.Host("a"), "next").Parent)
}

func TestArtifactsAndDecisionsAreKeptOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Dir = "/home/me/project"
	frame := f.Push(projecttest.Host("s"), "work")
	for _, artifact := range []string{"/home/me/project/src/a.go", "src/a.go", "/home/me/other/b.go", "https://example.org"} {
		_, _, err := stack.AddArtifact(f.Ctx, f.Project, projecttest.Host("s"), "", artifact)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"src/a.go", "/home/me/other/b.go", "https://example.org"}, f.Get(frame.ID).Artifacts)

	_, added, err := stack.AddDecision(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, " use SQLite ")
	require.NoError(t, err)
	assert.True(t, added)
	_, added, err = stack.AddDecision(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, "use SQLite")
	require.NoError(t, err)
	assert.False(t, added)
	assert.Equal(t, []string{"use SQLite"}, f.Get(frame.ID).Decisions)
	assert.Equal(t, []string{core.FrameCreated, core.FrameUpdated, core.FrameUpdated, core.FrameUpdated, core.FrameUpdated}, f.Kinds(frame.ID),
		"what changes nothing leaves no event")
}

func TestSetGoalSetsCriteria(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	id := f.Push(by, "Fix it").ID
	for _, step := range []struct{ goal, criteria, event string }{
		{"", "tests pass", `{"fields":["successCriteria"],"successCriteria":"tests pass"}`},
		{"Fix it", "tests pass", ""},
		{"Fix all", "", `{"fields":["goal"],"goal":"Fix all"}`},
		{"Fix two", "both work", `{"fields":["goal","successCriteria"],"goal":"Fix two","successCriteria":"both work"}`},
	} {
		last := project.EventQuery{Frame: id, Kinds: []string{core.FrameUpdated}}
		before, err := view.Events(f.Ctx, f.Project, last)
		require.NoError(t, err)
		frame, err := stack.SetGoal(f.Ctx, f.Project, by, "", step.goal, step.criteria)
		require.NoError(t, err)
		assert.Equal(t, f.Get(id), frame)
		after, err := view.Events(f.Ctx, f.Project, last)
		require.NoError(t, err)
		if told := after[len(before):]; step.event == "" {
			assert.Empty(t, told)
		} else {
			require.Len(t, told, 1)
			assert.JSONEq(t, step.event, string(told[0].Data))
		}
	}
	assert.Equal(t, "Fix two", f.Get(id).Goal)
	assert.Equal(t, "both work", f.Get(id).SuccessCriteria)
	_, err := stack.SetGoal(f.Ctx, f.Project, by, "", "", " ")
	require.ErrorIs(t, err, core.ErrInvalid)
	frame, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("new"), "", "A real goal", "")
	require.NoError(t, err)
	assert.Empty(t, frame.Parent, "the first write of a session makes its root")
	assert.False(t, f.Get(frame.ID).GoalIsDefault)
}

func TestAnUnstampedWriteInAStampedSessionIsRefused(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	unstamped := project.Caller{Session: "s", Host: "claude-code"}
	_, err := stack.Push(f.Ctx, f.Project, unstamped, "whose?", "")
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Hint, "flame doctor")
	assert.Equal(t, frame.ID, f.Current(unstamped), "reading is free")
	_, err = stack.Push(f.Ctx, f.Project, project.Caller{Session: "s", Host: project.CommandLine}, "by a person", "")
	require.NoError(t, err)
}

func TestAPersonAtAShellWorksInTheFrameOfTheLatestWork(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	first := f.Push(projecttest.Shell, "begun by hand")
	assert.Empty(t, first.Parent, "push in an empty project makes a root")
	assert.Equal(t, first.ID, f.Push(projecttest.Shell, "below").Parent)

	agents := f.Push(projecttest.Host("s"), "an agent's")
	assert.Equal(t, agents.ID, f.Current(projecttest.Shell), "the most recently active session's frame")
	byHand := f.Push(projecttest.Shell, "by hand again")
	assert.Equal(t, agents.ID, byHand.Parent)
	assert.Equal(t, agents.ID, f.Current(projecttest.Host("s")), "the agent's own current frame stays")
	f.Pop(projecttest.Shell, "")
	assert.Equal(t, agents.ID, f.Current(projecttest.Shell))
}

func TestFramesAreFoundByIDPrefixOrSession(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("ses_1"), "work") // frame-00000002 below frame-00000001
	for ref, want := range map[string]string{
		frame.ID:         frame.ID,
		" " + frame.ID:   frame.ID,
		"frame-00000002": frame.ID,
		"00000002":       frame.ID,
		"ses_1":          frame.Parent,
	} {
		assert.Equal(t, want, f.Get(ref).ID, ref)
	}
	var problem *core.Problem
	_, err := view.DetailsOf(f.Ctx, f.Project, projecttest.Shell, "frame-0000000")
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Message, "ambiguous")
	assert.Contains(t, problem.Hint, frame.ID)
	assert.Contains(t, problem.Hint, frame.Parent)
	_, err = view.DetailsOf(f.Ctx, f.Project, projecttest.Shell, "nonsense")
	require.ErrorAs(t, err, &problem)
	require.ErrorIs(t, err, core.ErrNotFound)
	assert.Contains(t, problem.Hint, frame.ID, "the latest are offered")
}
