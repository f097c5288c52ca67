package lock_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/lock"
)

// impatient is the context of a wait that ends at once.
func impatient() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// held locks the file at path as another process does, until release is called.
func held(t *testing.T, path string) (release func()) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	release = sync.OnceFunc(func() { assert.NoError(t, file.Close()) })
	t.Cleanup(release)
	return release
}

// threads returns how many goroutines are in the system call that waits for a lock. Each has
// a thread.
func threads() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "lock.flock(")
}

// It counts all waits of the process, so it does not run in parallel with other tests.
func TestAbandonedWaitsCostOneThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := held(t, path)
	for range 50 {
		_, err := lock.Acquire(impatient(), path)
		require.ErrorIs(t, err, lock.ErrBusy)
		pid, busy := lock.HolderOf(impatient(), path)
		assert.Zero(t, pid)
		assert.True(t, busy)
	}
	assert.LessOrEqual(t, threads(), 2, "one for each kind of lock")
	release()
	mine, err := lock.Acquire(t.Context(), path)
	require.NoError(t, err)
	_, busy := lock.HolderOf(impatient(), path)
	assert.True(t, busy)
	mine.Release()
	_, busy = lock.HolderOf(t.Context(), path)
	assert.False(t, busy)
	for threads() > 0 { // an abandoned wait releases its lock
		runtime.Gosched()
	}
}

func TestALateLockGoesToTheNextWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release := held(t, path)
	_, err := lock.Acquire(impatient(), path)
	require.ErrorIs(t, err, lock.ErrBusy)
	var waits sync.WaitGroup
	var holders, took atomic.Int32
	for range 20 {
		waits.Go(func() {
			lock, err := lock.Acquire(t.Context(), path)
			if assert.NoError(t, err) {
				assert.EqualValues(t, 1, holders.Add(1), "one at a time")
				took.Add(1)
				runtime.Gosched()
				holders.Add(-1)
				lock.Release()
			}
		})
		waits.Go(func() { // stops waiting, or gets the lock
			if lock, err := lock.Acquire(impatient(), path); err == nil {
				lock.Release()
			}
		})
	}
	release()
	waits.Wait()
	assert.EqualValues(t, 20, took.Load())
}

func TestAWaitIsForThePresentFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held(t, path) // until the end of the test
	_, err := lock.Acquire(impatient(), path)
	require.ErrorIs(t, err, lock.ErrBusy)
	require.NoError(t, os.Remove(path))
	release := held(t, path)
	got := make(chan error, 1)
	go func() {
		lock, err := lock.Acquire(context.Background(), path)
		lock.Release()
		got <- err
	}()
	release()
	assert.NoError(t, <-got)
}

// A process that is just being started shares the open files of this one.
func TestALockIsReleasedThatAnotherProcessShares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	taken, err := lock.Acquire(t.Context(), path)
	require.NoError(t, err)
	shared := false
	all, err := os.ReadDir("/dev/fd")
	require.NoError(t, err)
	for _, entry := range all {
		fd, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		var of, at syscall.Stat_t
		if syscall.Fstat(fd, &of) == nil && syscall.Stat(path, &at) == nil && of.Dev == at.Dev && of.Ino == at.Ino {
			copied, err := syscall.Dup(fd)
			require.NoError(t, err)
			defer syscall.Close(copied)
			shared = true
			break
		}
	}
	require.True(t, shared)
	taken.Release()
	again, err := lock.Acquire(impatient(), path)
	require.NoError(t, err)
	again.Release()
}
