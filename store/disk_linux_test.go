package store_test

import (
	"context"
	"errors"
	"fmt"
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
	"flame/tests/storetest"
)

// smallDisk mounts a file system for the test.
func smallDisk(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("flame", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("needs the right to mount a small disk: %v", err)
	}
	// Another test may be starting a process, which has all files open for a moment.
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "size=2m")
	dir := filepath.Join(disk, "data")
	kept := store.Open(dir, store.Options{LongLived: true})
	storetest.Save(t, kept, core.Frame{ID: "f-1"})
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
	assert.Equal(t, "f-1", storetest.Found(t, kept, project.FrameQuery{}), "what was there is there")

	require.NoError(t, os.Remove(filepath.Join(disk, "ballast")))
	storetest.Save(t, kept, core.Frame{ID: "f-2"})
	assert.Equal(t, "f-1 f-2", storetest.Found(t, kept, project.FrameQuery{}))
	require.NoError(t, kept.Close())
	assertSound(t, dir)
}

func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "size=64k")
	kept := store.Open(filepath.Join(disk, "data"), store.Options{})
	p := unavailable(t, kept.Update(context.Background(), func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Planned})
	}))
	assert.Contains(t, p.Message, "full")
	assert.Empty(t, storetest.Found(t, kept, project.FrameQuery{}))
	require.NoError(t, kept.Close())
}

// useUpInodes makes empty files until no more can be made, and returns a way to
// delete them.
func useUpInodes(t *testing.T, disk string) (free func()) {
	t.Helper()
	var made []string
	for {
		path := filepath.Join(disk, fmt.Sprintf("empty-%d", len(made)))
		err := os.WriteFile(path, nil, 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		require.NoError(t, err)
		made = append(made, path)
	}
	return func() {
		for _, path := range made {
			require.NoError(t, os.Remove(path))
		}
	}
}

// closeBetweenForks closes a Store, which removes its log, while no other test starts a
// process: until such a process runs its program, it has a copy of every descriptor of this
// one, and the removed log would keep its inode.
func closeBetweenForks(t *testing.T, s *store.Store) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, s.Close())
}

func assertNoInodes(t *testing.T, err error) {
	t.Helper()
	p := unavailable(t, err)
	assert.Contains(t, p.Message, "the disk has no inodes left")
	assert.Contains(t, p.Hint, "delete files")
}

func TestUsedUpInodes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	nothing := func(project.Tx) error { return nil }
	for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, "size=4m,nr_inodes=40")
			free := useUpInodes(t, disk)
			dir := filepath.Join(disk, "data")
			assertNoInodes(t, open(t, dir, opts).Update(ctx, nothing))
			free()

			kept := store.Open(dir, opts)
			storetest.Save(t, kept, core.Frame{ID: "f-1"})
			closeBetweenForks(t, kept)
			free = useUpInodes(t, disk)
			kept = open(t, dir, opts)
			for range 2 {
				assertNoInodes(t, kept.Update(ctx, nothing))
				assert.Equal(t, "f-1", storetest.Found(t, kept, project.FrameQuery{}), "reading still works")
			}
			findings := broken(store.Check(ctx, dir))
			require.Len(t, findings, 1)
			assert.Contains(t, findings[0].What, "no inodes left")

			free()
			storetest.Save(t, kept, core.Frame{ID: "f-2"})
			assert.Equal(t, "f-1 f-2", storetest.Found(t, kept, project.FrameQuery{}))
			require.NoError(t, kept.Close())
			assertSound(t, dir)
		})
	}
}

// A process that only looked first, as `flame doctor` does, has the same locks then.
func TestLocksSurviveThatAnotherDescriptorIsClosed(t *testing.T) {
	t.Parallel()
	out, err := child(t, small(t), "locks").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "true\n", string(out))
}
