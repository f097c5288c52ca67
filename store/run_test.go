package store_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

func TestARunThatWritesOnAnOldSnapshotRunsAgain(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			mine, other := open(t, dir, opts), open(t, dir, store.Options{})
			storetest.Save(t, other, core.Frame{ID: "f-1", Goal: "before"})
			var seen []string
			require.NoError(t, mine.Run(context.Background(), func(tx project.Tx) error {
				f, err := tx.Frame("f-1")
				if err != nil {
					return err
				}
				if seen = append(seen, f.Goal); len(seen) == 1 {
					storetest.Save(t, other, core.Frame{ID: "f-1", Goal: "meanwhile"})
				}
				f.Goal += ", then"
				return tx.SaveFrame(f)
			}))
			assert.Equal(t, []string{"before", "meanwhile"}, seen)
			assert.Equal(t, "f-1", storetest.Found(t, other, project.FrameQuery{Text: "meanwhile then"}))
			storetest.Save(t, other, core.Frame{ID: "f-2"}) // the lock is free again
			storetest.Save(t, mine, core.Frame{ID: "f-3"})
		})
	}
}

// A server reads by a connection that cannot write. Once another is open and idle, a Run uses
// that: all of it would be done twice otherwise.
func TestARunThatWritesRunsOnce(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			kept, other := open(t, dir, opts), open(t, dir, store.Options{})
			storetest.Save(t, kept, core.Frame{ID: "f-1"})
			storetest.Save(t, other, core.Frame{ID: "f-1", Goal: "by another"})
			runs := 0
			require.NoError(t, kept.Run(context.Background(), func(tx project.Tx) error {
				runs++
				f, err := tx.Frame("f-1")
				if err != nil {
					return err
				}
				f.Goal += " and this one"
				return tx.SaveFrame(f)
			}))
			assert.Equal(t, 1, runs)
			assert.Equal(t, "f-1", storetest.Found(t, other, project.FrameQuery{Text: "another one"}))
		})
	}
}
