package intake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/intake"
	"flame/local/lock"
	"flame/project/turns"
)

func newInbox(t *testing.T) intake.Inbox {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return intake.Inbox{Dir: dir}
}

func put(t *testing.T, b intake.Inbox, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, b.Append(t.Context(), []byte(line)))
	}
}

// taker takes each line by f, from the first of a file.
func taker(f func(turns.EventID, []byte) error) intake.Taker {
	return intake.Taker{From: func(string) (int64, error) { return 0, nil }, Line: f}
}

// take returns the lines that are taken out before f returns an error.
func take(t *testing.T, b intake.Inbox, f func(turns.EventID, []byte) error) (taken []string, err error) {
	t.Helper()
	err = b.Take(t.Context(), taker(func(at turns.EventID, line []byte) error {
		if err := f(at, line); err != nil {
			return err
		}
		taken = append(taken, string(line))
		return nil
	}))
	return taken, err
}

func always(turns.EventID, []byte) error { return nil }

func TestLinesAreTakenInTheirOrderOnce(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	assert.False(t, b.HasLines())
	taken, err := take(t, b, always)
	require.NoError(t, err)
	assert.Empty(t, taken)
	put(t, b, "a", "b", strings.Repeat("x", 10<<20))
	assert.True(t, b.HasLines())
	taken, err = take(t, b, func(_ turns.EventID, line []byte) error {
		if string(line) == "b" {
			put(t, b, "c") // while others are taken
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", strings.Repeat("x", 10<<20), "c"}, taken)
	assert.False(t, b.HasLines())
	taken, err = take(t, b, always)
	require.NoError(t, err)
	assert.Empty(t, taken)
}

func TestWhatWasNotTakenIsTakenAgainUnderTheSameName(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	put(t, b, "a", "b", "c")
	var file string
	stop := errors.New("stop")
	_, err := take(t, b, func(at turns.EventID, _ []byte) error {
		if file = at.Source; at.N == 2 {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
	put(t, b, "d")
	var numbers []string
	taken, err := take(t, b, func(at turns.EventID, _ []byte) error {
		numbers = append(numbers, fmt.Sprint(at.Source == file, at.N))
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c", "d"}, taken)
	assert.Equal(t, []string{"true 1", "true 2", "true 3", "false 1"}, numbers)
}

func TestATornLineIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	put(t, b, "a")
	file, err := os.OpenFile(filepath.Join(b.Dir, "inbox", "events"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("tor")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	put(t, b, "b")
	taken, err := take(t, b, always)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "tor", "b"}, taken)
}

func TestManyProcessesPutAndTakeAtOnce(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	const writers, each = 8, 50
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for n := range each {
				assert.NoError(t, b.Append(t.Context(), fmt.Appendf(nil, "%d %d", w, n)))
			}
		})
	}
	var mu sync.Mutex
	taken := map[string]int{}
	last := [writers]int{}
	collect := taker(func(_ turns.EventID, line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		var w, n int
		_, err := fmt.Sscan(string(line), &w, &n)
		assert.Equal(t, last[w], n, "in the order of each writer")
		last[w]++
		taken[string(line)]++
		return err
	})
	for range 3 {
		work.Go(func() {
			for range 20 {
				assert.NoError(t, b.Take(t.Context(), collect))
			}
		})
	}
	work.Wait()
	require.NoError(t, b.Take(t.Context(), collect))
	assert.Len(t, taken, writers*each)
	for line, times := range taken {
		assert.Equal(t, 1, times, line)
	}
}

func TestOnlyOneTakesAtATime(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	put(t, b, "a")
	_, err := take(t, b, func(turns.EventID, []byte) error {
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		assert.ErrorIs(t, b.Take(ctx, taker(always)), lock.ErrBusy)
		return nil
	})
	require.NoError(t, err)
}

func TestAFullInboxTakesNoMoreAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	b.Limit = 12
	put(t, b, "12345")
	require.ErrorContains(t, b.Append(t.Context(), []byte("123456")), "is full")
	put(t, b, "123")
	state, err := b.State()
	require.NoError(t, err)
	assert.Equal(t, intake.InboxState{Bytes: 12, Limit: 12, Lost: 1, LostFile: filepath.Join(b.Dir, "inbox", "lost")}, state)
	taken, err := take(t, b, always)
	require.NoError(t, err)
	assert.Equal(t, []string{"12345", "123"}, taken)
}

func TestNoLinkIsFollowed(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"inbox", "inbox/events", "inbox/lock"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			b := newInbox(t)
			outside := filepath.Join(t.TempDir(), "outside")
			if link == "inbox" {
				require.NoError(t, os.Mkdir(outside, 0o700))
			} else {
				require.NoError(t, os.WriteFile(outside, nil, 0o600))
				require.NoError(t, os.Mkdir(filepath.Join(b.Dir, "inbox"), 0o700))
			}
			require.NoError(t, os.Symlink(outside, filepath.Join(b.Dir, link)))
			require.Error(t, b.Append(t.Context(), []byte("a")))
			info, err := os.Stat(outside)
			require.NoError(t, err)
			if link == "inbox" {
				entries, err := os.ReadDir(outside)
				require.NoError(t, err)
				assert.Empty(t, entries)
			} else {
				assert.Zero(t, info.Size())
			}
		})
	}
}

func TestLinesAreSetAside(t *testing.T) {
	t.Parallel()
	b := intake.Inbox{Dir: t.TempDir()}
	require.NoError(t, b.Append(t.Context(), []byte("a line")))
	for _, line := range []string{"one", "two"} {
		require.NoError(t, b.Quarantine([]byte(line)))
	}
	state, err := b.State()
	require.NoError(t, err)
	kept, err := os.ReadFile(state.Aside)
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\n", string(kept))
}
