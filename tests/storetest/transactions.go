package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

func rollback(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "f-1", Goal: "kept"})
	stop := errors.New("stop")
	err := kept.Update(context.Background(), func(tx project.Tx) error {
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Failed, Goal: "lost"}))
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-2", Status: core.Failed}))
		return stop
	})
	assert.Equal(t, stop, err, "the caller's error comes back as it is")
	assert.Equal(t, "f-1", Found(t, kept, project.FrameQuery{Text: "kept"}))
	assert.Equal(t, "f-1", Found(t, kept, project.FrameQuery{}))
}

func panics(t *testing.T, kept project.Store) {
	assert.Panics(t, func() {
		_ = kept.Update(context.Background(), func(tx project.Tx) error {
			require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Failed}))
			panic("a bug")
		})
	})
	Save(t, kept, core.Frame{ID: "f-2"})
	assert.Equal(t, "f-2", Found(t, kept, project.FrameQuery{}))
}

func viewWrites(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "f-1"})
	for name, write := range map[string]func(project.Tx) error{
		"frame":    func(tx project.Tx) error { return tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Failed}) },
		"event":    func(tx project.Tx) error { _, err := tx.AppendEvent(core.Event{Event: "E"}); return err },
		"record":   func(tx project.Tx) error { return tx.SaveRecord("k", "i", 1) },
		"deadline": func(tx project.Tx) error { return tx.ClearDeadline("k", "s") },
		"new id":   func(tx project.Tx) error { return tx.SaveSession(core.Session{ID: "s-new"}) },
	} {
		assert.Error(t, kept.View(context.Background(), write), name)
	}
}

func nesting(t *testing.T, kept project.Store) {
	nothing := func(project.Tx) error { return nil }
	for name, outer := range map[string]func(context.Context, func(project.Tx) error) error{"View": kept.View, "Update": kept.Update} {
		err := outer(context.Background(), func(tx project.Tx) error {
			begun := time.Now()
			assert.Error(t, kept.View(tx.Context(), nothing), "View inside %s", name)
			assert.Error(t, kept.Update(tx.Context(), nothing), "Update inside %s", name)
			assert.Less(t, time.Since(begun), 9*time.Second, "neither waits for the lock")
			return nil
		})
		assert.NoError(t, err)
	}
}

func snapshot(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "f-1", UpdatedAt: 1})
	written := make(chan error, 1)
	View(t, kept, func(tx project.Tx) {
		go func() {
			written <- kept.Update(context.Background(), func(tx project.Tx) error {
				return tx.SaveFrame(core.Frame{ID: "f-2", Status: core.Planned, UpdatedAt: 2})
			})
		}()
		select { // a Store may let the write wait for the View, or not
		case err := <-written:
			require.NoError(t, err)
			written <- nil
		case <-time.After(20 * time.Millisecond):
		}
		frames, err := tx.FindFrames(project.FrameQuery{})
		require.NoError(t, err)
		_, newest, err := tx.Revision()
		require.NoError(t, err)
		assert.Len(t, frames, 1)
		assert.EqualValues(t, 1, newest)
	})
	require.NoError(t, <-written)
	assert.Equal(t, "f-1 f-2", Found(t, kept, project.FrameQuery{}))
}

func goroutines(t *testing.T, kept project.Store) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := kept.Update(context.Background(), func(tx project.Tx) error {
					var n int
					if _, err := tx.Record("counter", "n", &n); err != nil {
						return err
					}
					if err := tx.SaveFrame(core.Frame{ID: fmt.Sprintf("f-%d-%d", w, i), Status: core.Planned}); err != nil {
						return err
					}
					var mine int // a part of the record of all
					part := fmt.Sprintf("counters.w%d", w)
					if _, err := tx.Record(part, "n", &mine); err != nil {
						return err
					}
					return errors.Join(tx.SaveRecord("counter", "n", n+1), tx.SaveRecord(part, "n", mine+1))
				})
				assert.NoError(t, err)
				assert.NoError(t, kept.View(context.Background(), func(tx project.Tx) error {
					_, err := tx.Frame(fmt.Sprintf("f-%d-%d", w, i))
					return err
				}), "a write is seen by who made it")
			}
		})
	}
	wg.Wait()
	View(t, kept, func(tx project.Tx) {
		var n int
		_, err := tx.Record("counter", "n", &n)
		require.NoError(t, err)
		assert.Equal(t, writers*each, n)
		var all map[string]int
		_, err = tx.Record("counters", "n", &all)
		require.NoError(t, err)
		assert.Equal(t, slices.Repeat([]int{each}, writers), slices.Collect(maps.Values(all)))
		counts, err := tx.CountFrames(project.FrameQuery{})
		require.NoError(t, err)
		assert.Equal(t, writers*each, counts[core.Planned])
	})
}
