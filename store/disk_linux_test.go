package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("flame", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("needs the right to mount a small disk: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(disk, 0)) })
	dir := filepath.Join(disk, "data")
	kept := store.Open(dir, store.Options{LongLived: true})
	save(t, kept, core.Frame{ID: "f-1"})
	require.NoError(t, os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 600<<10), 0o600))

	huge := func(tx project.Tx) error {
		return tx.SaveRecord("kind", "huge", strings.Repeat("text ", 2<<20)) // more than SQLite keeps in memory
	}
	for range 2 {
		p := unavailable(t, kept.Update(context.Background(), huge))
		assert.Contains(t, p.Message, "the disk is full")
		assert.Contains(t, p.Hint, "flame doctor")
	}
	unavailable(t, kept.Update(context.Background(), func(tx project.Tx) error {
		assert.Error(t, huge(tx))
		assert.Error(t, tx.SaveRecord("kind", "id", "after the error"), "nothing is written outside the transaction")
		return nil
	}))
	assert.Equal(t, "f-1", found(t, kept, project.FrameQuery{}), "what was there is there")

	require.NoError(t, os.Remove(filepath.Join(disk, "ballast")))
	save(t, kept, core.Frame{ID: "f-2"})
	assert.Equal(t, "f-1 f-2", found(t, kept, project.FrameQuery{}))
	require.NoError(t, kept.Close())
	assertSound(t, dir)
}

func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("flame", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs the right to mount a small disk: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(disk, 0)) })
	kept := store.Open(filepath.Join(disk, "data"), store.Options{})
	p := unavailable(t, kept.Update(context.Background(), func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Planned})
	}))
	assert.Contains(t, p.Message, "full")
	assert.Empty(t, found(t, kept, project.FrameQuery{}))
	require.NoError(t, kept.Close())
}
