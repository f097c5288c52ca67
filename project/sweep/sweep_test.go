package sweep_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestSweepWritesNothingWithoutCause(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	before, err := view.Revision(f.Ctx, f.Project)
	require.NoError(t, err)
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	after, err := view.Revision(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestSweepDropsOldEventsOnceADay(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	f.Clock += 91 * 24 * 60 * 60 * 1000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Empty(t, f.Kinds(frame.ID))
	assert.Equal(t, "work", f.Get(frame.ID).Goal, "frames stay")

	later := f.Push(projecttest.Host("s"), "later")
	f.Clock += 2 * 24 * 60 * 60 * 1000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.NotEmpty(t, f.Kinds(later.ID))
}

func TestADeadlineThatFailsDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	frame := f.StartChild("c", "a subagent").Root
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return tx.SetDeadline(project.Deadline{Kind: "unheard of", Subject: "x", Due: 1, Set: 1})
	}))
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))
	f.Clock += 10_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, core.Completed, f.Get(frame).Status)
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		due, err := tx.DueDeadlines(f.Clock, "", "", 10)
		assert.Empty(t, due, "it is not tried forever")
		return err
	}))
}

func TestAfterASleepIdleDeadlinesAreLaterByThatMuch(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	frame := f.StartChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Child("c"), turns.EndReport{}))

	var clock, awake atomic.Int64 // ms: what the wall shows, and how long the machine was awake
	clock.Store(int64(f.Clock))
	f.Now = func() core.Millis { return core.Millis(clock.Load()) }
	ctx, stop := context.WithCancel(f.Ctx)
	tick := make(chan time.Time)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sweep.Run(ctx, f.Project, tick, func() time.Duration { return time.Duration(awake.Load()) * time.Millisecond })
	}()
	pass := func(slept, up int64) {
		clock.Add(slept + up)
		awake.Add(up)
		tick <- time.Time{}
		tick <- time.Time{} // the first has been handled when the second is taken
	}
	pass(0, 0)
	pass(3_600_000, 1_000)
	assert.Equal(t, core.InProgress, f.Get(frame).Status, "the machine slept for an hour")
	pass(0, 6_000)
	assert.Equal(t, core.Completed, f.Get(frame).Status, "postponed once")
	stop()
	<-done
}
