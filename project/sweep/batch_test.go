package sweep_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/sweep"
	"flame/project/transfer"
	"flame/project/view"
	"flame/tests/projecttest"
)

// longWorks are operations on many things, each on n of them, prepared by make.
var longWorks = map[string]struct {
	make func(f *projecttest.Fixture, n int)
	do   func(ctx context.Context, f *projecttest.Fixture) error
	left func(f *projecttest.Fixture) int
}{
	"an import": {
		make: func(*projecttest.Fixture, int) {},
		do: func(ctx context.Context, f *projecttest.Fixture) error {
			_, err := transfer.ImportHistory(ctx, f.Project, history)
			return err
		},
		left: func(f *projecttest.Fixture) int { return len(history.Frames) - len(f.All()) },
	},
	"prune": {
		make: func(f *projecttest.Fixture, n int) {
			require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
				for i := range n {
					if err := tx.SaveFrame(core.Frame{ID: fmt.Sprint("frame-", i), Status: core.InProgress}); err != nil {
						return err
					}
				}
				return nil
			}))
		},
		do: func(ctx context.Context, f *projecttest.Fixture) error {
			_, err := sweep.Prune(ctx, f.Project, true)
			return err
		},
		left: func(f *projecttest.Fixture) int { return len(f.All()) },
	},
	"the end of a session": {
		make: func(f *projecttest.Fixture, n int) {
			f.Push(projecttest.Host("s"), "work")
			for i := range n {
				f.StartChild(fmt.Sprint("c", i), "a subagent")
			}
		},
		do: func(ctx context.Context, f *projecttest.Fixture) error {
			return children.EndSession(ctx, f.Project, projecttest.Host("s"))
		},
		left: func(f *projecttest.Fixture) int { return projecttest.CountOf(f.ByID())[core.InProgress] - 2 }, // the session's own
	},
	"a sweep of old events": {
		make: func(f *projecttest.Fixture, n int) {
			f.Push(projecttest.Host("s"), "work")
			require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
				for range n * 100 {
					if _, err := tx.AppendEvent(core.Event{Event: core.FrameUpdated, TS: f.Clock}); err != nil {
						return err
					}
				}
				return nil
			}))
			f.Clock += 91 * 24 * 60 * 60 * 1000
		},
		do: func(ctx context.Context, f *projecttest.Fixture) error {
			for {
				if err := sweep.RunOnce(ctx, f.Project); err != nil || ctx.Err() != nil {
					return ctx.Err()
				}
				if due, _ := nextDeadline(f); due > f.Clock {
					return nil
				}
			}
		},
		left: func(f *projecttest.Fixture) int {
			events, err := view.Events(f.Ctx, f.Project, project.EventQuery{})
			require.NoError(f.T, err)
			return len(events)
		},
	},
}

func nextDeadline(f *projecttest.Fixture) (due core.Millis, there bool) {
	f.T.Helper()
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) error {
		all, err := tx.DueDeadlines(math.MaxInt64, "", "", 1)
		if there = len(all) > 0; there {
			due = all[0].Due
		}
		return err
	}))
	return due, there
}

// history is what is imported.
var history = func() transfer.State {
	state := transfer.State{Version: 1, Frames: map[string]transfer.StateFrame{}}
	for i := range 30 {
		id := fmt.Sprint("frame-", i)
		state.Frames[id] = transfer.StateFrame{Frame: core.Frame{ID: id, Goal: "work", Status: core.Completed, CreatedAt: core.Millis(i)}}
		state.RootFrameIDs = append(state.RootFrameIDs, id)
	}
	return state
}()

func TestLongWorkIsManyTransactionsAndCanContinue(t *testing.T) {
	t.Parallel()
	const n = 30
	for name, work := range longWorks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			work.make(f, n)
			before := work.left(f)
			ctx, cancel := context.WithCancel(f.Ctx)
			updates := 0
			f.Slow(func() {
				if updates++; updates == n/2 {
					cancel()
				}
			})
			require.Error(t, work.do(ctx, f), "it was stopped in the middle")
			some := work.left(f)
			assert.Less(t, some, before)
			assert.Positive(t, some)
			require.NoError(t, work.do(f.Ctx, f))
			assert.Zero(t, work.left(f))
			assert.GreaterOrEqual(t, updates, n)
		})
	}
}
