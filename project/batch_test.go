package project_test

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
)

// longWorks are operations on many things, each on n of them, prepared by make.
var longWorks = map[string]struct {
	make func(f *fixture, n int)
	do   func(ctx context.Context, f *fixture) error
	left func(f *fixture) int
}{
	"an import": {
		make: func(*fixture, int) {},
		do: func(ctx context.Context, f *fixture) error {
			_, err := transfer.History(ctx, f.Project, history)
			return err
		},
		left: func(f *fixture) int { return len(history.Frames) - len(f.all()) },
	},
	"prune": {
		make: func(f *fixture, n int) {
			require.NoError(f.t, f.Store.Update(f.ctx, func(tx project.Tx) error {
				for i := range n {
					if err := tx.SaveFrame(core.Frame{ID: fmt.Sprint("frame-", i), Status: core.InProgress}); err != nil {
						return err
					}
				}
				return nil
			}))
		},
		do: func(ctx context.Context, f *fixture) error {
			_, err := sweep.Prune(ctx, f.Project, true)
			return err
		},
		left: func(f *fixture) int { return len(f.all()) },
	},
	"the end of a session": {
		make: func(f *fixture, n int) {
			f.push(host("s"), "work")
			for i := range n {
				f.startChild(fmt.Sprint("c", i), "a subagent")
			}
		},
		do:   func(ctx context.Context, f *fixture) error { return children.EndSession(ctx, f.Project, host("s")) },
		left: func(f *fixture) int { return countOf(f.byID())[core.InProgress] - 2 }, // the session's own
	},
	"a sweep of old events": {
		make: func(f *fixture, n int) {
			f.push(host("s"), "work")
			require.NoError(f.t, f.Store.Update(f.ctx, func(tx project.Tx) error {
				for range n * 100 {
					if _, err := tx.AppendEvent(core.Event{Event: core.FrameUpdated, TS: f.clock}); err != nil {
						return err
					}
				}
				return nil
			}))
			f.clock += 91 * 24 * 60 * 60 * 1000
		},
		do: func(ctx context.Context, f *fixture) error {
			for {
				if err := sweep.Once(ctx, f.Project); err != nil || ctx.Err() != nil {
					return ctx.Err()
				}
				if due, _ := f.nextDeadline(); due > f.clock {
					return nil
				}
			}
		},
		left: func(f *fixture) int {
			events, err := view.Events(f.ctx, f.Project, project.EventQuery{})
			require.NoError(f.t, err)
			return len(events)
		},
	},
}

func (f *fixture) nextDeadline() (due core.Millis, there bool) {
	f.t.Helper()
	require.NoError(f.t, f.Store.View(f.ctx, func(tx project.Tx) error {
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
		state.Frames[id] = transfer.StateFrame{SessionID: id, Goal: "work", Status: core.Completed, CreatedAt: core.Millis(i)}
		state.RootFrameIDs = append(state.RootFrameIDs, id)
	}
	return state
}()

func TestLongWorkIsManyTransactionsAndCanBeGoneOnWith(t *testing.T) {
	t.Parallel()
	const n = 30
	for name, work := range longWorks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			work.make(f, n)
			before := work.left(f)
			ctx, cancel := context.WithCancel(f.ctx)
			updates := 0
			f.slow(func() {
				if updates++; updates == n/2 {
					cancel()
				}
			})
			require.Error(t, work.do(ctx, f), "it was stopped in the middle")
			some := work.left(f)
			assert.Less(t, some, before)
			assert.Positive(t, some)
			require.NoError(t, work.do(f.ctx, f))
			assert.Zero(t, work.left(f))
			assert.GreaterOrEqual(t, updates, n)
		})
	}
}
