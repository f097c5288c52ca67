package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hub"
	"flame/hub/queue"
)

// connect connects to the hub as the machine does.
func (m machine) connect() *hub.Conn {
	m.Helper()
	link, err := hub.Load(dataOf(m.T, m))
	require.NoError(m, err)
	conn, err := hub.Connect(m.Context(), link)
	require.NoError(m, err)
	m.Cleanup(conn.Close)
	return conn
}

// server returns the process of the hub's server.
func (h hubProcess) server(t *testing.T) *os.Process {
	t.Helper()
	pids, err := exec.Command("pgrep", "-P", strconv.Itoa(h.cmd.Process.Pid)).Output()
	if err != nil {
		t.Skip("pgrep is not installed")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(pids)))
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	return process
}

// store returns the folder of the data of the machine's hub.
func (m machine) store() string {
	return filepath.Join(m.home, ".local", "share", "flame-hub", "jetstream")
}

// halted calls f while the hub's server is stopped.
func (h hubProcess) halted(t *testing.T, f func()) {
	t.Helper()
	server := h.server(t)
	require.NoError(t, server.Signal(syscall.SIGSTOP))
	defer func() { require.NoError(t, server.Signal(syscall.SIGCONT)) }()
	f()
}

// TestAHubKeepsWhatItAcknowledged copies the files of a server in the middle of writing, as if it
// had been killed there. It cannot show what a disk would have lost.
func TestAHubKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	h := desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	config, err := os.ReadFile(filepath.Join(filepath.Dir(desk.store()), "nats.conf"))
	require.NoError(t, err)
	assert.Contains(t, string(config), "sync_interval: always")
	q, err := queue.Open(t.Context(), desk.connect())
	require.NoError(t, err)
	var mu sync.Mutex
	var acknowledged []string
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("job-%d-%d", w, i)
				if q.Put(ctx, queue.Job{ID: id, Queue: "gpu", Body: json.RawMessage("{}")}) == nil {
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
				}
			}
		})
	}
	defer writers.Wait()
	defer stop()
	require.Eventually(t, func() bool { return count() > 50 }, hubPatience, time.Millisecond)
	cut := filepath.Join(desk.home, "cut")
	var kept []string
	h.halted(t, func() {
		mu.Lock()
		kept = append(kept, acknowledged...)
		mu.Unlock()
		require.NoError(t, os.CopyFS(cut, os.DirFS(desk.store())))
	})
	require.Eventually(t, func() bool { return count() > len(kept) }, hubPatience, time.Millisecond, "it was in the middle")
	h.end(t, syscall.SIGKILL)
	stop()
	writers.Wait()
	require.NoError(t, os.RemoveAll(desk.store()))
	require.NoError(t, os.Rename(cut, desk.store()))
	desk.hub()
	q, err = queue.Open(t.Context(), desk.connect())
	require.NoError(t, err)
	for _, id := range kept {
		_, known, err := q.Find(t.Context(), id)
		require.NoError(t, err)
		assert.True(t, known, id)
	}
	for range kept {
		_, job, err := q.Next(t.Context(), "gpu")
		require.NoError(t, err)
		assert.NotEmpty(t, job.ID)
	}
}

// TestAnOlderCopyOfTheHubsDataIsFilledUp puts an older copy of a hub's data in place.
func TestAnOlderCopyOfTheHubsDataIsFilledUp(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "box", "train")
	desk, box, train := all[0].withClaude(), all[1].withClaude(), all[2]
	h := desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	box.flame("join", desk.invite())
	desk.serve()
	desk.flame("push", "Before the copy")
	id := desk.away("make the file") // it waits for a worker
	box.serve()
	box.shows("tree", "make the file")
	old := filepath.Join(desk.home, "old")
	h.halted(t, func() { require.NoError(t, os.CopyFS(old, os.DirFS(desk.store()))) })
	box.worker()
	require.Equal(t, core.AgentCompleted, desk.until(id, ended).State)
	desk.flame("push", "After the copy")
	desk.flame("pop", "completed", "it is done")
	box.shows("tree", "✓ After the copy", "✓ make the file")

	h.end(t, syscall.SIGKILL)
	require.NoError(t, os.RemoveAll(desk.store()))
	require.NoError(t, os.Rename(old, desk.store()))
	desk.hub()
	train.flame("join", desk.invite())
	train.serve()
	train.shows("tree", "Before the copy", "✓ After the copy", "✓ make the file")
	again := desk.until(desk.away("make another file"), ended)
	assert.Equal(t, core.AgentCompleted, again.State, "%+v", again.Outcome)
	assert.Equal(t, 2, strings.Count(box.flame("agents", "runs"), "completed"), "what has ended is not run again")
	assert.Equal(t, core.AgentCompleted, desk.agent(id).State)
	assert.Contains(t, box.flame("tree"), "✓ make the file")
}
