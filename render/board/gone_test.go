package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/store"
	"flame/tests/projecttest"
)

func TestADeletedFrameLeavesTheBoard(t *testing.T) {
	t.Parallel()
	for _, many := range []int{10, 6000} {
		t.Run(fmt.Sprint(many, " frames"), func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
			t.Parallel()
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
