package board_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/store"
	"flame/tests/projecttest"
)

func TestADeletedFrameLeavesTheBoard(t *testing.T) {
	for _, many := range []int{10, 6000} {
		t.Run(fmt.Sprint(many, " frames"), func(t *testing.T) {
			f := projecttest.New(t)
			frames := make([]core.Frame, many)
			for i := range frames {
				frames[i] = core.Frame{ID: fmt.Sprintf("f-%d", i), Status: core.Planned, Usage: core.Usage{ToolCalls: 1}}
				if i > 0 {
					frames[i].Parent = fmt.Sprintf("f-%d", (i-1)/3)
				}
			}
			save(f, frames...)
			p, look := watch(f)
			look()
			last := fmt.Sprintf("f-%d", many-1)
			update(f, func(tx project.Tx) error { return tx.DeleteFrame(last) })
			f.Clock += 5000
			look()
			assert.NotContains(t, p.frames, last)
			assert.EqualValues(t, many-1, p.frames["f-0"].Total.ToolCalls)

			save(f, core.Frame{ID: last, Status: core.Planned})
			f.Clock += 5000
			look()
			assert.Contains(t, p.frames, last, "it is back")
			assert.Len(t, p.frames, many)
		})
	}
}

func TestAMovedFrameMovesItsTotal(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	put := func(id, parent string) {
		save(f, core.Frame{ID: id, Parent: parent, Status: core.Planned, Usage: core.Usage{ToolCalls: 1}})
	}
	put("a", "")
	put("b", "")
	put("c", "a")
	put("d", "c")
	look()
	put("c", "b")
	look()
	assert.EqualValues(t, 1, p.frames["a"].Total.ToolCalls)
	assert.EqualValues(t, 3, p.frames["b"].Total.ToolCalls)
	put("b", "d")
	look()
	put("b", "a")
	look()
	assert.EqualValues(t, 4, p.frames["a"].Total.ToolCalls, "a cycle that was opened")
}

// Where older files are put back, what was read of the newer ones is no more.
func TestTheBoardReadsAnOlderCopyFromTheBeginning(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) *store.Store { return store.Open(filepath.Join(dir, name), store.Options{}) }
	tell := func(s *store.Store, times int, at core.Millis) {
		defer func() { require.NoError(t, s.Close()) }()
		for range times {
			require.NoError(t, s.Update(t.Context(), func(tx project.Tx) error {
				_, err := tx.AppendEvent(core.Event{Event: core.ManualReviewRequired, Session: "s", TS: at})
				return err
			}))
		}
	}
	tell(open("old"), 3, 5)
	require.NoError(t, os.CopyFS(filepath.Join(dir, "new"), os.DirFS(filepath.Join(dir, "old"))))
	tell(open("new"), 7, 5)
	for name, tt := range map[string]struct {
		more int
		at   core.Millis
	}{
		"as it was":                 {0, 0},
		"with less":                 {4, 6},
		"with as many other events": {7, 6},
		"with more other events":    {9, 6},
	} {
		t.Run(name, func(t *testing.T) {
			back := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(back, os.DirFS(filepath.Join(dir, "old"))))
			tell(store.Open(back, store.Options{}), tt.more, tt.at)
			at := &moving{open("new")}
			b := board.New(at, func() core.Millis { return 10 }, nil)
			_, err := b.Read(t.Context())
			require.NoError(t, err)
			require.Len(t, b.Snapshot().Notices, 10)
			require.NoError(t, at.Close())
			at.Store = store.Open(back, store.Options{})
			defer func() { assert.NoError(t, at.Close()) }()
			_, err = b.Read(t.Context())
			require.NoError(t, err)
			assert.Len(t, b.Snapshot().Notices, 3+tt.more)
		})
	}
}

// moving is a store whose data is replaced.
type moving struct{ *store.Store }

// opener opens a project in a folder, as often as asked.
func opener(data string, closed chan<- error) func(context.Context) (board.Source, error) {
	return func(context.Context) (board.Source, error) {
		s := store.Open(data, store.Options{LongLived: true})
		p := &project.Project{Store: s, Now: func() core.Millis { return 1 }}
		return board.Source{Agents: &agents.Agents{Setup: plan.Setup{Project: p, Data: data}}, File: filepath.Join(data, "flame.db"), Close: func() error {
			err := s.Close()
			closed <- err
			return err
		}}, nil
	}
}

func saved(t *testing.T, data, id string) {
	s := store.Open(data, store.Options{})
	require.NoError(t, s.Update(t.Context(), func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: id, Status: core.Planned})
	}))
	require.NoError(t, s.Close())
}

// shown waits until a feed shows one frame alone, without trouble.
func shown(t *testing.T, f *board.Feed, id string) {
	deadline := time.After(time.Minute)
	for {
		n := f.News()
		if rows := n.Board.Snapshot().Frames; n.Trouble == nil && len(rows) == 1 && rows[0].ID == id {
			return
		}
		select {
		case <-n.Next:
		case <-deadline:
			require.Fail(t, "it does not show "+id, "%+v", n.Trouble)
		}
	}
}

// A restored backup may replace the folder, or the files in it.
func TestAFeedReadsReplacedDataAgain(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, data, old string){
		"the folder": func(t *testing.T, data, old string) {
			require.NoError(t, os.RemoveAll(data))
			require.NoError(t, os.CopyFS(data, os.DirFS(old)))
		},
		"the files in it": func(t *testing.T, data, old string) {
			require.NoError(t, errors.Join(os.Remove(filepath.Join(data, "flame.db-wal")), os.Remove(filepath.Join(data, "flame.db-shm"))))
			copied := filepath.Join(data, "copied.db")
			content, err := os.ReadFile(filepath.Join(old, "flame.db"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied, content, 0o600))
			require.NoError(t, os.Rename(copied, filepath.Join(data, "flame.db")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, old := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "old")
			saved(t, data, "now")
			saved(t, old, "before")
			closed := make(chan error, 10)
			open := opener(data, closed)
			opened, err := open(t.Context())
			require.NoError(t, err)
			f := board.NewFeed(t.Context(), opened, open)
			shown(t, f, "now")
			replace(t, data, old)
			shown(t, f, "before")
			assert.Empty(t, closed, "a request may still use what was opened first")
			require.NoError(t, f.Close())
			assert.Len(t, closed, 2)
		})
	}
}

func TestAFeedClosesEarlierOpeningsAfterAWhile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		data := filepath.Join(dir, "data")
		require.NoError(t, os.Mkdir(data, 0o700))
		var open, closed atomic.Int32
		opener := func(context.Context) (board.Source, error) {
			open.Add(1)
			p := &project.Project{Store: empty{}, Now: func() core.Millis { return 1 }}
			return board.Source{Agents: &agents.Agents{Setup: plan.Setup{Project: p, Data: data}}, Close: func() error { closed.Add(1); return nil }}, nil
		}
		opened, err := opener(t.Context())
		require.NoError(t, err)
		life, end := context.WithCancel(t.Context())
		f := board.NewFeed(life, opened, opener)
		time.Sleep(2 * time.Second)
		require.NoError(t, os.Rename(data, data+"-was"))
		require.NoError(t, os.Mkdir(data, 0o700))
		time.Sleep(2 * time.Second)
		assert.Equal(t, []int32{2, 0}, []int32{open.Load(), closed.Load()})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, []int32{2, 1}, []int32{open.Load(), closed.Load()})
		end()
		require.NoError(t, f.Close())
		assert.Equal(t, []int32{2, 2}, []int32{open.Load(), closed.Load()})
	})
}

// empty is a project of which nothing can be read.
type empty struct{ project.Store }

func (empty) View(context.Context, func(project.Tx) error) error { return nil }
