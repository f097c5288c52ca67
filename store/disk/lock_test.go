package disk_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/store/disk"
)

// impatient is the context of a wait that is given up at once.
func impatient() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// held locks the file at path as another process does, until release is called.
func held(t *testing.T, path string) (release func()) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	release = sync.OnceFunc(func() { assert.NoError(t, file.Close()) })
	t.Cleanup(release)
	return release
}

// threads returns how many goroutines are in the system call that waits for a lock; each
// has a thread.
func threads() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "disk.flock(")
}

// It does not run beside the tests that wait for locks, as it counts all such waits.
func TestWaitsThatAreGivenUpCostOneThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := held(t, path)
	for range 50 {
		_, err := disk.TakeLock(impatient(), path)
		require.ErrorIs(t, err, disk.ErrBusy)
		pid, busy := disk.HolderOf(impatient(), path)
		assert.Zero(t, pid)
		assert.True(t, busy)
	}
	assert.LessOrEqual(t, threads(), 2, "one for each kind of lock")
	release()
	lock, err := disk.TakeLock(t.Context(), path)
	require.NoError(t, err)
	_, busy := disk.HolderOf(impatient(), path)
	assert.True(t, busy)
	lock.Release()
	_, busy = disk.HolderOf(t.Context(), path)
	assert.False(t, busy)
	for threads() > 0 { // what waited for others releases what it gets
		runtime.Gosched()
	}
}

func TestALateGrantGoesToTheNextWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	release := held(t, path)
	_, err := disk.TakeLock(impatient(), path)
	require.ErrorIs(t, err, disk.ErrBusy)
	var waits sync.WaitGroup
	var holders, took atomic.Int32
	for range 20 {
		waits.Go(func() {
			lock, err := disk.TakeLock(t.Context(), path)
			if assert.NoError(t, err) {
				assert.EqualValues(t, 1, holders.Add(1), "one at a time")
				took.Add(1)
				runtime.Gosched()
				holders.Add(-1)
				lock.Release()
			}
		})
		waits.Go(func() { // gives up, or is lucky
			if lock, err := disk.TakeLock(impatient(), path); err == nil {
				lock.Release()
			}
		})
	}
	release()
	waits.Wait()
	assert.EqualValues(t, 20, took.Load())
}

func TestAWaitIsForTheFileThatIsThereNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	held(t, path) // to the end of the test
	_, err := disk.TakeLock(impatient(), path)
	require.ErrorIs(t, err, disk.ErrBusy)
	require.NoError(t, os.Remove(path))
	release := held(t, path)
	got := make(chan error, 1)
	go func() {
		lock, err := disk.TakeLock(context.Background(), path)
		lock.Release()
		got <- err
	}()
	release()
	assert.NoError(t, <-got)
}
