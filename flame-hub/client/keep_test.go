package client

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hub"
	"flame/local/lock"
)

// A kept project is one with a data folder.
type kept struct {
	*memory
	data string
	held []string
	stop func()
}

// station returns a project that is not kept yet.
func station(t *testing.T, machine string) *kept {
	return &kept{memory: newMemory(machine), data: t.TempDir()}
}

// keep keeps the project connected, from one of perhaps several processes.
func (k *kept) keep(h *hubServer) *kept {
	ctx, stop := context.WithCancel(h.ctx())
	ended := make(chan struct{})
	k.stop = func() { stop(); <-ended }
	h.t.Cleanup(k.stop)
	go func() {
		defer close(ended)
		hub.KeepJoined(ctx, k.data, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			return Keep(ctx, Config{
				Data: k.data, Tree: func(string) Tree { return k.memory }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
				Held: func(context.Context) ([]string, error) { return k.held, nil },
				Now:  func() core.Millis { return core.MillisOf(time.Now()) },
			})
		})
	}()
	return k
}

// await waits until the status of a project is as want says.
func (k *kept) await(t *testing.T, want func(hub.Status) bool) (s hub.Status) {
	require.Eventually(t, func() bool {
		var err error
		s, err = hub.LoadStatus(k.data)
		return err == nil && want(s)
	}, patience, 20*time.Millisecond)
	return s
}

func connected(s hub.Status) bool { return s.Since > 0 && s.Complete }

func TestAProjectIsKeptConnected(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := station(t, "laptop"), station(t, "desk")
	a.held = []string{"frame-1"}
	a.decide("frame-1", "one")
	a.keep(h)
	assert.NoFileExists(t, filepath.Join(a.data, "hub.lock"), "without a hub flame makes no lock")
	for _, k := range []*kept{a, b} {
		require.NoError(t, hub.Save(k.data, h.link(k.clock.Machine)))
	}
	s := a.await(t, connected)
	b.keep(h) // now, as who is there is looked at seldom
	assert.Equal(t, os.Getpid(), s.PID)
	assert.Equal(t, ServerVersion, s.Server)
	assert.Empty(t, s.Error)
	assert.True(t, s.Holds(core.MillisOf(time.Now())))
	require.Eventually(t, func() bool { return len(b.all()) == 1 }, patience, 20*time.Millisecond)
	b.await(t, func(s hub.Status) bool { return len(s.Machines) == 2 })
	require.ErrorContains(t, h.claims("desk", claimTime).Claim(h.ctx(), "frame-1"), "on machine laptop")

	h.stop()
	a.await(t, func(s hub.Status) bool { return s.Since == 0 && s.Error != "" && s.Hint != "" })
	a.decide("frame-2", "while the hub is away")
	h.start()
	a.await(t, connected)
	require.Eventually(t, func() bool { return len(b.all()) == 2 }, patience, 20*time.Millisecond)

	require.NoError(t, hub.Remove(a.data))
	require.Eventually(t, func() bool {
		_, err := hub.LoadStatus(a.data)
		return os.IsNotExist(err)
	}, patience, 20*time.Millisecond, "it has left")
	require.NoError(t, h.claims("desk", claimTime).Claim(h.ctx(), "frame-1"), "and released its claims")
}

func TestOneProcessKeepsAProject(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := station(t, "laptop")
	require.NoError(t, hub.Save(a.data, h.link("laptop")))
	a.keep(h)
	first := a.await(t, connected)
	second := (&kept{memory: newMemory("laptop"), data: a.data}).keep(h)
	now, stop := context.WithCancel(h.ctx())
	stop()
	_, err := hub.Lock(now, a.data)
	require.ErrorIs(t, err, lock.ErrBusy, "the first process has it")
	a.stop()
	s := second.await(t, func(s hub.Status) bool { return connected(s) && s.Since != first.Since })
	assert.Greater(t, s.Since, first.Since)
}
