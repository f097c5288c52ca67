package board_test

import (
	"context"
	"errors"
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
)

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

// Whoever restores a backup may replace the folder, or the files in it.
func TestAFeedReadsReplacedDataAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, data, old string){
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
	}
	for name, replace := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
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
