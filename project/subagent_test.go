package project_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
)

// child is a subagent's session, in the session s.
func child(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "opencode", Trust: project.Stamped}
}

func (f *fixture) startChild(id, title string) core.Session {
	f.t.Helper()
	session, err := children.StartSession(f.ctx, f.Project, child(id), title)
	require.NoError(f.t, err)
	return session
}

func (f *fixture) stats() core.SubagentStats {
	f.t.Helper()
	all, err := children.Sessions(f.ctx, f.Project, host("s"))
	require.NoError(f.t, err)
	return all.Stats
}

func TestAMatchingSubagentGetsAFrameAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	parent := f.push(host("s"), "work")
	session := f.startChild("c", "Look around (@explore subagent)")
	frame := f.get(session.Root)
	assert.Equal(t, parent.ID, frame.Parent)
	assert.Equal(t, "Look around", frame.Goal)
	assert.Equal(t, frame.ID, f.current(child("c")))
	assert.Equal(t, parent.ID, f.current(host("s")), "its parent stays where it is")
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, f.stats())

	again := f.startChild("c", "Look around (@explore subagent)")
	assert.Equal(t, session.Root, again.Root)
	assert.Equal(t, 1, f.stats().TotalDetected, "the same event twice is once")
}

func TestAnUnmatchedSubagentWaitsForTheHeuristics(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	parent := f.push(host("s"), "work")
	assert.False(t, f.startChild("c", "Some work").HasFrame())
	for _, message := range []string{"m1", "m2", "m2", "m3"} {
		f.prompt(child("c"), message, "go on")
	}
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	assert.Equal(t, 1, f.stats().SkippedByHeuristics, "sessions are counted, not attempts")
	assert.Empty(t, f.current(child("c")), "no message makes it a root")

	f.clock += 60_000
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	all, err := children.Sessions(f.ctx, f.Project, host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, 3, all.Sessions[0].MessageCount, "the same message twice is once")
	require.True(t, all.Sessions[0].HasFrame())
	assert.Equal(t, parent.ID, f.get(all.Sessions[0].Root).Parent)
}

func TestAnIdleSubagentIsCompletedAfterTheDelay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	frame := f.startChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	f.clock += 4_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, core.InProgress, f.get(frame).Status)

	f.prompt(child("c"), "more", "go on")
	f.clock += 4_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, core.InProgress, f.get(frame).Status, "a message ends the wait")

	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	f.clock += 5_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, core.Completed, f.get(frame).Status)
	assert.NotEmpty(t, f.get(frame).Summary)
	assert.Equal(t, 1, f.stats().AutoCompleted)
	assert.Contains(t, f.kinds(frame), core.SubagentCompleted)
}

func TestAnIdleSubagentIsNotCompletedOverWorkBelowIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	frame := f.startChild("c", "a subagent").Root
	f.push(child("c"), "deeper")
	require.NoError(t, turns.End(f.ctx, f.Project, child("c"), turns.Turn{}))
	f.clock += 6_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, core.InProgress, f.get(frame).Status)
}

func TestCompleteSubagentByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	session := f.startChild("c", "a subagent")
	done, err := children.Complete(f.ctx, f.Project, host("s"), "c", core.Failed, "no luck")
	require.NoError(t, err)
	assert.Equal(t, core.Failed, f.get(session.Root).Status)
	assert.False(t, done.Already)
	assert.Contains(t, f.kinds(session.Root), core.SubagentError)

	done, err = children.Complete(f.ctx, f.Project, host("s"), session.Root, core.Completed, "")
	require.NoError(t, err, "by the frame's id too")
	assert.True(t, done.Already)
	assert.Equal(t, 1, f.stats().ManuallyCompleted)

	_, err = children.Complete(f.ctx, f.Project, host("s"), "s", core.Completed, "")
	require.ErrorIs(t, err, core.ErrNotFound)
	f.startChild("short", "quick one")
	_, err = children.Complete(f.ctx, f.Project, host("s"), "short", core.Completed, "")
	require.ErrorIs(t, err, core.ErrInvalid, "a session without a frame")
}

func TestWithIntegrationOffEveryChildGetsAFrameUntracked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	off := false
	_, err := children.Configure(f.ctx, f.Project, host("s"), children.Patch{Enabled: &off}, "", "")
	require.NoError(t, err)
	f.push(host("s"), "work")
	session := f.startChild("c", "anything")
	assert.True(t, session.HasFrame())
	assert.False(t, session.Tracked)
}

func TestASubagentNobodyAnnouncedWorksBelowItsParent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	parent := f.push(host("s"), "work")
	frame := f.push(child("c"), "a part of it")
	assert.Equal(t, parent.ID, frame.Parent)
	assert.Equal(t, parent.ID, f.current(host("s")))
	decided, _, err := stack.AddDecision(f.ctx, f.Project, child("d"), "", "so be it")
	require.NoError(t, err)
	assert.Equal(t, parent.ID, decided.Parent)
	assert.True(t, decided.GoalIsDefault)

	f.pop(child("c"), "done")
	assert.Empty(t, f.current(child("c")), "it does not go on in its parent's frame")
	assert.Equal(t, parent.ID, f.push(child("c"), "one more").Parent)
}

func TestCompletedSubagentsAreForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	f.startChild("old", "a subagent")
	_, err := children.Complete(f.ctx, f.Project, host("s"), "old", core.Completed, "done")
	require.NoError(t, err)
	f.startChild("new", "another subagent")
	f.clock += core.Millis((2 * time.Hour).Milliseconds())
	require.NoError(t, turns.End(f.ctx, f.Project, child("new"), turns.Turn{}))
	all, err := children.Sessions(f.ctx, f.Project, host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, "new", all.Sessions[0].ID)
}

func TestSubagentSettingsAreKeptAllOrNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	five, negative := 5, int64(-1)
	_, err := children.Configure(f.ctx, f.Project, host("s"), children.Patch{MinMessageCount: &five, MinDuration: &negative}, "", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = children.Configure(f.ctx, f.Project, host("s"), children.Patch{MinMessageCount: &five}, "(?=bad)", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	now, err := children.Configure(f.ctx, f.Project, host("s"), children.Patch{}, "", "")
	require.NoError(t, err)
	assert.Equal(t, core.DefaultSubagentConfig(), now.SubagentConfig)
	assert.False(t, now.Updated)

	now, err = children.Configure(f.ctx, f.Project, host("s"), children.Patch{MinMessageCount: &five}, "worker", "subagent")
	require.NoError(t, err)
	assert.Equal(t, 5, now.MinMessageCount)
	assert.Equal(t, []string{"@.*subagent", `\[Task\]`, "worker"}, now.SubagentPatterns)
	assert.Equal(t, []string{"minMessageCount", "subagentPatterns"}, now.Changed)
	f.Subagents.MinDuration = 1
	now, err = children.Configure(f.ctx, f.Project, host("s"), children.Patch{}, "", "")
	require.NoError(t, err)
	assert.Equal(t, int64(1), now.MinDuration, "what no tool changed follows the environment")
	assert.Equal(t, 5, now.MinMessageCount)
}

func TestSummariesOfSubagentsPropagateUnlessTurnedOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	f.startChild("c", "a subagent")
	_, err := children.Complete(f.ctx, f.Project, host("s"), "c", core.Completed, "FOUND_IT")
	require.NoError(t, err)
	assert.Contains(t, f.context(host("s"), "").Text, "FOUND_IT")
	off := false
	_, err = children.Configure(f.ctx, f.Project, host("s"), children.Patch{PropagateSummaries: &off}, "", "")
	require.NoError(t, err)
	assert.NotContains(t, f.context(host("s"), "").Text, "FOUND_IT")
}
