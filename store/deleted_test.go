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

func TestADeletedFrameIsNotNamedBySessions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	kept := open(t, dir, store.Options{})
	storetest.Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Completed, Session: "s-1"}))
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-2", Status: core.Completed, Session: "s-2"}))
		for i, session := range []string{"s-1", "s-2", "s-3"} {
			root := []string{"f-1", "f-2", "f-2"}[i]
			require.NoError(t, tx.SaveSession(core.Session{ID: session, Root: root, Current: "f-1"}))
		}
		require.NoError(t, tx.DeleteFrame("f-1"))
	})
	storetest.View(t, kept, func(tx project.Tx) {
		for session, root := range map[string]string{"s-1": "", "s-2": "f-2", "s-3": "f-2"} {
			got, err := tx.Session(session)
			require.NoError(t, err)
			assert.Equal(t, root, got.Root, session)
			assert.Empty(t, got.Current, session)
		}
	})
	assert.Contains(t, store.Check(context.Background(), dir)[0].What, "is sound")
}
