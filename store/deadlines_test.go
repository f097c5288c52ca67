package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

// A neighbour is another process that writes into the same folder when asked to.
type neighbour struct {
	in    io.Writer
	lines *bufio.Scanner
	count int
}

func newNeighbour(t *testing.T, dir string) *neighbour {
	t.Helper()
	cmd := child(t, dir, "echo")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	lines := start(t, cmd)
	t.Cleanup(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	return &neighbour{in: in, lines: lines}
}

// write requires that the neighbour can write now.
func (n *neighbour) write(t *testing.T) {
	t.Helper()
	n.count++
	id := fmt.Sprintf("neighbour-%d", n.count)
	_, err := fmt.Fprintln(n.in, id)
	require.NoError(t, err)
	require.True(t, n.lines.Scan())
	require.Equal(t, id, n.lines.Text(), "another process can write")
}

// both saves a frame and its event, or neither.
func both(id string) func(project.Tx) error {
	return func(tx project.Tx) error {
		if err := tx.SaveFrame(core.Frame{ID: id, Status: core.InProgress}); err != nil {
			return err
		}
		_, err := tx.AppendEvent(core.Event{Event: core.FrameCreated, Frame: id})
		return err
	}
}

// assertWhole asserts that all frames of acknowledged are there, and that each
// frame in progress has its event.
func assertWhole(t *testing.T, kept *store.Store, acknowledged []string) {
	t.Helper()
	storetest.View(t, kept, func(tx project.Tx) {
		for _, id := range acknowledged {
			_, err := tx.Frame(id)
			assert.NoError(t, err, "what was acknowledged is there")
		}
		counts, err := tx.CountFrames(project.FrameQuery{})
		require.NoError(t, err)
		events, err := tx.FindEvents(project.EventQuery{})
		require.NoError(t, err)
		assert.Len(t, events, counts[core.InProgress], "never half a transaction")
	})
}

// ended asserts that err is one of those with which a context's end is told.
func ended(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		assert.ErrorIs(t, err, core.ErrUnavailable)
	}
}

var contextsThatEnd = map[string]func(time.Duration) (context.Context, context.CancelFunc){
	"by a deadline": func(d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), d)
	},
	"by cancelling": func(d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(d, cancel)
		return ctx, cancel
	},
}

// A context may end at any moment of a View or Update: before it begins, while
// SQLite begins, in the middle, at its commit.
func TestNoTransactionIsLeftBehindByAContextThatEnds(t *testing.T) {
	t.Parallel()
	const rounds = 20
	for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		for how, ending := range contextsThatEnd {
			t.Run(kind+", "+how, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "data")
				kept := open(t, dir, opts)
				storetest.Save(t, kept, core.Frame{ID: "f-1", Status: core.Planned})
				other := newNeighbour(t, dir)
				var acknowledged []string
				for i := range rounds {
					ctx, cancel := ending(time.Duration(rand.IntN(200)) * time.Microsecond)
					id := fmt.Sprintf("f-%d", i)
					err := kept.Update(ctx, both(id))
					if err == nil {
						acknowledged = append(acknowledged, id)
						err = kept.View(ctx, func(tx project.Tx) error { _, err := tx.Frame(id); return err })
					}
					cancel()
					if err != nil {
						ended(t, err)
						other.write(t)
					}
				}
				assertWhole(t, kept, acknowledged)
			})
		}
	}
}

// A statement that is called off may take the transaction with it; what comes
// after it must not be kept either.
func TestAnUpdateThatIsCalledOffLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	kept := open(t, dir, store.Options{LongLived: true})
	other := newNeighbour(t, dir)
	other.write(t)
	huge := strings.Repeat("text ", 1<<16)
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20_000))*time.Microsecond)
		err := kept.Update(ctx, func(tx project.Tx) error {
			for ctx.Err() == nil {
				_ = tx.SaveRecord("kind", "huge", huge)
				_ = tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Planned})
			}
			_ = tx.SaveFrame(core.Frame{ID: "f-2", Status: core.Planned})
			return nil
		})
		ended(t, err)
		cancel()
		other.write(t)
		assert.NotContains(t, storetest.Found(t, kept, project.FrameQuery{}), "f-")
	}
}

// A machine that is too busy to begin in time is no lock, and the message must not send
// people looking for its holder.
func TestATimeThatIsUpIsNoLock(t *testing.T) {
	t.Parallel()
	for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kept := open(t, filepath.Join(t.TempDir(), "data"), opts)
			storetest.Save(t, kept, core.Frame{ID: "f-1"})
			up, cancel := context.WithTimeout(t.Context(), -time.Second)
			defer cancel()
			nothing := func(project.Tx) error { return nil }
			for what, use := range map[string]func(context.Context, func(project.Tx) error) error{
				"View": kept.View, "Update": kept.Update, "Run": kept.Run,
			} {
				p := unavailable(t, use(up, nothing))
				assert.Contains(t, p.Message, "in time", what)
				assert.NotContains(t, p.Message+p.Hint, "doctor", what)
			}
			busy := make(chan struct{})
			go func() {
				assert.NoError(t, kept.Update(t.Context(), func(project.Tx) error { busy <- struct{}{}; <-busy; return nil }))
				close(busy)
			}()
			<-busy
			assert.Contains(t, unavailable(t, kept.Update(up, nothing)).Message, "locked")
			busy <- struct{}{}
			<-busy
		})
	}
}
