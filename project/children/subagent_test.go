package children_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/tests/projecttest"
)

func stats(f *projecttest.Fixture) core.SubagentStats {
	f.T.Helper()
	all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(f.T, err)
	return all.Stats
}

func TestAMatchingSubagentGetsAFrameAtOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	parent := f.Push(projecttest.Host("s"), "work")
	session := f.StartChild("c", "Look around (@explore subagent)")
	frame := f.Get(session.Root)
	assert.Equal(t, parent.ID, frame.Parent)
	assert.Equal(t, "Look around", frame.Goal)
	assert.Equal(t, frame.ID, f.Current(projecttest.Child("c")))
	assert.Equal(t, parent.ID, f.Current(projecttest.Host("s")), "its parent stays where it is")
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, stats(f))

	again := f.StartChild("c", "Look around (@explore subagent)")
	assert.Equal(t, session.Root, again.Root)
	assert.Equal(t, 1, stats(f).TotalDetected, "the same event twice is once")
}

func TestAnUnmatchedSubagentWaitsForTheHeuristics(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	parent := f.Push(projecttest.Host("s"), "work")
	assert.False(t, f.StartChild("c", "Some work").HasFrame())
	for _, message := range []string{"m1", "m2", "m2", "m3"} {
		f.Prompt(projecttest.Child("c"), message, "go on")
	}
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	assert.Equal(t, 1, stats(f).SkippedByHeuristics, "sessions are counted, not attempts")
	assert.Empty(t, f.Current(projecttest.Child("c")), "no message makes it a root")

	f.Clock += 60_000
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, 3, all.Sessions[0].MessageCount, "the same message twice is once")
	require.True(t, all.Sessions[0].HasFrame())
	assert.Equal(t, parent.ID, f.Get(all.Sessions[0].Root).Parent)
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, stats(f), "what has a frame after all was not skipped")
}

func TestEachSubagentIsCountedByHowItEndedFirst(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	for _, id := range []string{"idle", "hand", "host", "lost", "open"} {
		f.StartChild(id, id+" subagent")
	}
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("idle"), turns.EndReport{}))
	f.Clock += 6_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	_, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "hand", core.Completed, "done")
	require.NoError(t, err)
	ended := children.EndReport{Session: "host", End: core.ChildCompleted, Last: "done"}
	require.NoError(t, children.End(f.Ctx, f.Project, projecttest.Host("s"), ended))
	require.NoError(t, children.Orphan(f.Ctx, f.Project, projecttest.Host("s"), []string{"open"}))
	want := core.SubagentStats{TotalDetected: 5, FramesCreated: 5, AutoCompleted: 1, ManuallyCompleted: 1, EndedByHost: 2}
	assert.Equal(t, want, stats(f))
	assert.Equal(t, "80 %", core.Percent(want.AutoCompleted+want.ManuallyCompleted+want.EndedByHost, want.FramesCreated), "one of five still works")

	_, err = children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "host", 0)
	require.NoError(t, err)
	require.NoError(t, children.End(f.Ctx, f.Project, projecttest.Host("s"), ended))
	assert.Equal(t, want, stats(f), "one that goes on and ends again is the same one")
}

func TestAnIdleSubagentIsCompletedAfterTheDelay(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	frame := f.StartChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	f.Clock += 4_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, core.InProgress, f.Get(frame).Status)

	f.Prompt(projecttest.Child("c"), "more", "go on")
	f.Clock += 4_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, core.InProgress, f.Get(frame).Status, "a message ends the wait")

	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{LastMessage: "that was it"}))
	f.Clock += 5_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, core.Completed, f.Get(frame).Status)
	assert.Equal(t, "that was it", f.Get(frame).Summary)
	assert.Equal(t, 1, stats(f).AutoCompleted)
	assert.Contains(t, f.Kinds(frame), core.SubagentCompleted)
}

func TestAnIdleSubagentIsNotCompletedOverWorkBelowIt(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	frame := f.StartChild("c", "a subagent").Root
	f.Push(projecttest.Child("c"), "deeper")
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	f.Clock += 6_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, core.InProgress, f.Get(frame).Status)
}

func TestCompleteSubagentByHand(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	session := f.StartChild("c", "a subagent")
	done, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "c", core.Failed, "no luck")
	require.NoError(t, err)
	assert.Equal(t, core.Failed, f.Get(session.Root).Status)
	assert.False(t, done.Already)
	assert.Contains(t, f.Kinds(session.Root), core.SubagentError)

	done, err = children.Complete(f.Ctx, f.Project, projecttest.Host("s"), session.Root, core.Completed, "")
	require.NoError(t, err, "by the frame's id too")
	assert.True(t, done.Already)
	assert.Equal(t, 1, stats(f).ManuallyCompleted)

	_, err = children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "s", core.Completed, "")
	require.ErrorIs(t, err, core.ErrNotFound)
	f.StartChild("short", "quick one")
	_, err = children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "short", core.Completed, "")
	require.ErrorIs(t, err, core.ErrInvalid, "a session without a frame")
}

func TestWithIntegrationOffNoChildGetsAFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	off := false
	_, err := children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{Enabled: &off}, "", "")
	require.NoError(t, err)
	f.Push(projecttest.Host("s"), "work")
	f.Spawn(projecttest.Host("s"), "call", "look")
	f.Bind(projecttest.Host("s"), "call", "c1")
	assert.False(t, f.StartChild("c2", "a subagent").HasFrame())
	for _, child := range []string{"c1", "c2", "never seen"} {
		require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, projecttest.Agent(child), []string{"a.go"}))
		f.Prompt(projecttest.Agent(child), "m1", "go on")
		f.EndChild(projecttest.Host("s"), projecttest.Completed(child, "FOUND"))
	}
	assert.Equal(t, []string{"in_progress Session s", "  in_progress work"}, f.Draw())
	assert.Zero(t, stats(f).TotalDetected)
	asked := f.Push(projecttest.Agent("c1"), "by its own will")
	assert.Equal(t, f.Current(projecttest.Host("s")), asked.Parent)
}

func TestAnUnannouncedSubagentWorksBelowItsParent(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	parent := f.Push(projecttest.Host("s"), "work")
	frame := f.Push(projecttest.Child("c"), "a part of it")
	assert.Equal(t, parent.ID, frame.Parent)
	assert.Equal(t, parent.ID, f.Current(projecttest.Host("s")))
	decided, _, err := stack.AddDecision(f.Ctx, f.Project, projecttest.Child("d"), "", "so be it")
	require.NoError(t, err)
	assert.Equal(t, parent.ID, decided.Parent)
	assert.True(t, decided.GoalIsDefault)

	f.Pop(projecttest.Child("c"), "done")
	assert.Empty(t, f.Current(projecttest.Child("c")), "it does not go on in its parent's frame")
	assert.Equal(t, parent.ID, f.Push(projecttest.Child("c"), "one more").Parent)
}

func TestCompletedSubagentsAreForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	f.StartChild("old", "a subagent")
	_, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "old", core.Completed, "done")
	require.NoError(t, err)
	f.StartChild("new", "another subagent")
	f.Clock += core.Millis((2 * time.Hour).Milliseconds())
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("new"), turns.EndReport{}))
	all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, "new", all.Sessions[0].ID)
}

func TestAForgottenSubagentContinuesWithItsGoal(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "old", "new")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("old", "FOUND"))
	f.Clock += core.Millis((2 * time.Hour).Milliseconds())
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Agent("new"), turns.EndReport{}))
	_, err := children.Continue(f.Ctx, f.Project, projecttest.Host("s"), "old", 0)
	require.NoError(t, err)
	assert.Contains(t, f.Draw(), "  in_progress old (continued)")
	f.EndChild(projecttest.Host("s"), projecttest.Completed("old", "MORE"))
	assert.Equal(t, 1, slices.Index(f.Draw(), "  completed old: FOUND"))
	assert.Contains(t, f.Draw(), "  completed old (continued): MORE")
}

func TestSubagentSettingsAreKeptAllOrNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	five, negative := 5, int64(-1)
	_, err := children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{MinMessageCount: &five, MinDuration: &negative}, "", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{MinMessageCount: &five}, "(?=bad)", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	now, err := children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{}, "", "")
	require.NoError(t, err)
	assert.Equal(t, core.DefaultSubagentConfig(), now.SubagentConfig)
	assert.False(t, now.Updated)

	now, err = children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{MinMessageCount: &five}, "worker", "subagent")
	require.NoError(t, err)
	assert.Equal(t, 5, now.MinMessageCount)
	assert.Equal(t, []string{"@.*subagent", `\[Task\]`, "worker"}, now.SubagentPatterns)
	assert.Equal(t, []string{"minMessageCount", "subagentPatterns"}, now.Changed)
	f.Subagents.MinDuration = 1
	now, err = children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{}, "", "")
	require.NoError(t, err)
	assert.Equal(t, int64(1), now.MinDuration, "what no tool changed follows the environment")
	assert.Equal(t, 5, now.MinMessageCount)
}

func TestSummariesOfSubagentsPropagateUnlessTurnedOff(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	f.StartChild("c", "a subagent")
	_, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), "c", core.Completed, "FOUND_IT")
	require.NoError(t, err)
	assert.Contains(t, f.Context(projecttest.Host("s"), "").Text, "FOUND_IT")
	off := false
	_, err = children.Configure(f.Ctx, f.Project, projecttest.Host("s"), children.Patch{PropagateSummaries: &off}, "", "")
	require.NoError(t, err)
	assert.NotContains(t, f.Context(projecttest.Host("s"), "").Text, "FOUND_IT")
}
