package tests

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/hub/queue"
)

// talks reports whether an agent runs and has produced text.
func talks(run record.Run) bool { return active(run) && run.Progress.Text != "" }

// goesOn lets the waiting agents of the machine continue.
func (m machine) goesOn() {
	m.Helper()
	require.NoError(m, os.WriteFile(filepath.Join(m.home, "go-on"), nil, 0o600))
}

// runsNone waits until no agent with this task runs on the machine.
func (m machine) runsNone(task string) {
	m.Helper()
	require.Eventually(m, func() bool { return !strings.Contains(m.flame("agents", "runs", "--running"), task) }, hubPatience, 100*time.Millisecond)
}

// A worker that is stopped for longer than others wait for it has lost its agents. It learns that
// when it continues.
func TestAWorkerEndsItsAgentsAfterALongSleep(t *testing.T) {
	t.Parallel()
	assert.Less(t, queue.AckWait+queue.Heartbeat/2+queue.Heartbeat, 10*time.Second, "that a worker is lost is noticed in 10 seconds")
	desk, box, _ := two(t)
	worker := box.worker()
	id := desk.away("WAIT for me")
	desk.until(id, talks)
	require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
	slept := time.Now()
	run := desk.until(id, ended)
	t.Logf("noticed after %v", time.Since(slept))
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Reason, "worker lost")
	assert.Equal(t, "at work", run.Outcome.Text, "what it said is kept")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "WAIT", "it goes on beside its worker")

	require.NoError(t, worker.Process.Signal(syscall.SIGCONT))
	box.runsNone("WAIT")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
	leavesNothing(t, box.home)
	box.goesOn()
	again := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentCompleted, again.State, "the worker goes on: %+v", again.Outcome)
	still := desk.agent(id)
	assert.Equal(t, []any{run.State, run.Outcome}, []any{still.State, still.Outcome}, "it ended once")
}

// The hub is killed and comes back later, and so do the machines' connections.
func TestAgentsEndDespiteAKilledHub(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	box.worker("--slots", "2")
	first, second := desk.away("WAIT for me"), desk.away("WAIT for me too")
	for _, id := range []string{first, second} {
		desk.until(id, talks)
	}
	h.end(t, syscall.SIGKILL)
	box.goesOn()
	box.runsNone("WAIT")
	third := desk.away("make the file") // a request that is made meanwhile
	assert.False(t, ended(desk.agent(first)), "nothing is known of it yet")
	desk.hub()
	for _, id := range []string{first, second, third} {
		run := desk.until(id, ended)
		assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
		assert.Equal(t, "all done", run.Outcome.Text)
		assert.FileExists(t, filepath.Join(dataOf(t, desk), "agents", id, "changes.patch"))
	}
	assert.Equal(t, 3, strings.Count(box.flame("agents", "runs"), "completed"), "none was run twice")
	leavesNothing(t, box.home)
}

func TestAWorkerReportsThatItsHubIsAway(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	cmd := box.command("worker", "--queue", "gpu")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(said)
	says := func(want string) {
		t.Helper()
		require.True(t, lines.Scan())
		assert.Contains(t, lines.Text(), want)
	}
	says("serving queue gpu")
	h.end(t, syscall.SIGKILL)
	says("the hub is away")
	desk.hub()
	says("the hub is back") // with no message in between, however often it tried
}

// A hub is away for longer than a follower waits until its worker has ended an agent.
func TestAnUndeliveredCancelArrivesOnceTheHubIsBack(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	box.worker()
	id := desk.away("WAIT for me")
	desk.until(id, talks)
	h.end(t, syscall.SIGKILL)
	desk.flame("agents", "cancel", id)
	run := desk.until(id, ended)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Contains(t, run.Outcome.Error, "flame tells the worker to stop as soon as it can")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "WAIT", "its machine knows nothing of that")
	desk.hub()
	box.runsNone("WAIT")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
}
