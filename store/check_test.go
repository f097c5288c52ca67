package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	check := func() string { return fmt.Sprintf("%+v", store.Check(context.Background(), dir)) }

	assert.Contains(t, check(), "no data yet")
	assert.NoDirExists(t, dir, "looking makes nothing")

	kept := open(t, dir, store.Options{LongLived: true})
	fill(t, kept, 300)
	assert.Contains(t, check(), "is sound: version 7, 300 frames, 0 events")
	assert.Empty(t, broken(store.Check(context.Background(), dir)))
	storetest.Save(t, kept, core.Frame{ID: "goes on"})

	require.NoError(t, os.Chmod(dir, 0o755))
	assert.Contains(t, check(), "chmod 700 "+dir)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "flame.db.backup-1"), nil, 0o600))
	assert.Contains(t, check(), "copy from before a migration")

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	assert.NotEmpty(t, broken(store.Check(context.Background(), dir)), "a file in the place of the folder")
}

func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, opts := range []store.Options{{}, {LongLived: true}} {
		kept := store.Open(filepath.Join(parent, "a", "data"), opts)
		assert.Empty(t, storetest.Found(t, kept, project.FrameQuery{}))
		require.NoError(t, kept.Close())
	}
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "data")
	kept := open(t, dir, store.Options{})
	storetest.Save(t, kept, core.Frame{ID: "f-1"})
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), entry.Name())
	}
}

func TestAnyNameOfAFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, name := range []string{"with space", "100%", "what?", "a#b", "a&b=c", "ünï", `back\slash`, "'q\""} {
		dir := filepath.Join(parent, name)
		kept := store.Open(dir, store.Options{})
		storetest.Save(t, kept, core.Frame{ID: "f-1"})
		require.NoError(t, kept.Close())
		assert.FileExists(t, filepath.Join(dir, "flame.db"))
		assertSound(t, dir)
	}
}

func TestRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	kept := open(t, ".flame", store.Options{})
	storetest.Save(t, kept, core.Frame{ID: "f-1"})
	assert.FileExists(t, ".flame/flame.db")
	assertSound(t, ".flame")
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	for _, opts := range []store.Options{{}, {LongLived: true}} {
		kept := store.Open(filepath.Join(t.TempDir(), "data"), opts)
		storetest.Save(t, kept, core.Frame{ID: "f-1"})
		require.NoError(t, kept.Close())
		require.NoError(t, kept.Close())
		assert.Error(t, kept.View(context.Background(), func(project.Tx) error { return nil }))
		assert.Error(t, kept.Update(context.Background(), func(project.Tx) error { return nil }))
	}
}
