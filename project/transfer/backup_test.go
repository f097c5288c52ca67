package transfer_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/transfer"
	"flame/store"
	"flame/tests/projecttest"
)

// backup copies the data of a machine that does nothing meanwhile.
func (m *machine) backup() (dir string) {
	m.T.Helper()
	dir = m.T.TempDir()
	require.NoError(m.T, os.Chmod(dir, 0o700))
	require.NoError(m.T, os.CopyFS(dir, os.DirFS(m.Data)))
	return dir
}

// restore has a machine go on with a copy of its data.
func (m *machine) restore(dir string) {
	m.T.Helper()
	kept := store.Open(dir, store.Options{})
	m.T.Cleanup(func() { assert.NoError(m.T, kept.Close()) })
	m.Project.Store, m.seen = kept, 0
}

func (m *machine) use(frame string, tokens int64) {
	m.T.Helper()
	require.NoError(m.T, m.Store.Update(m.Ctx, func(tx project.Tx) error {
		f, err := tx.Frame(frame)
		require.NoError(m.T, err)
		f.Usage = f.Usage.Add(core.Usage{TokensIn: tokens})
		return tx.SaveFrame(f)
	}))
}

// A machine whose data are put back hears from the others what it did since, and what it
// does then comes on top.
func TestRestoredData(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the hub is there": false, "the hub is new": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, m := hub{}, machines(t, 2)
			a, b := m[0], m[1]
			by := projecttest.Host("s-a")
			outer := a.Push(by, "Outer")
			inner := a.Push(by, "Inner")
			a.use(inner.ID, 50)
			meet(h, a, b)
			old := a.backup()

			a.Decide(by, inner.ID, "told before")
			a.use(inner.ID, 50)
			a.Pop(by, "it was done")
			b.use(inner.ID, 7)
			b.Decide(projecttest.Shell, outer.ID, "meanwhile")
			a.Clock += day
			later := a.Push(by, "Later")
			meet(h, a, b)
			require.Equal(t, int64(107), a.Get(inner.ID).Usage.TokensIn)

			a.restore(old)
			a.Clock -= day
			require.NotContains(t, a.ByID(), later.ID)
			a.Decide(by, inner.ID, "done anew")
			a.use(inner.ID, 5)
			if lost {
				clear(h)
				require.NoError(t, transfer.SharedTree{Project: b.Project}.Known(b.Ctx, func(d merge.Doc) error {
					h.put(t, d)
					return nil
				}))
			}
			meet(h, a, b)
			assert.Equal(t, a.alike(), b.alike())
			got := a.Get(inner.ID)
			assert.Equal(t, []string{"told before", "done anew"}, got.Decisions)
			assert.Equal(t, core.Completed, got.Status)
			assert.Equal(t, int64(112), got.Usage.TokensIn)
			assert.Empty(t, a.Get(later.ID).Machine, "it is its own again")
			assert.Equal(t, []string{"meanwhile"}, a.Get(outer.ID).Decisions)
			assert.Equal(t, outer.ID, a.Current(by))
		})
	}
}
