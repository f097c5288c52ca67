package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/flame-hub/queue"
)

// talks reports whether an agent runs and has produced text.
func talks(run record.Agent) bool { return active(run) && run.Progress.Text != "" }

// goesOn lets the waiting agents of the machine continue.
func (m machine) goesOn() {
	require.NoError(m, os.WriteFile(filepath.Join(m.home, "go-on"), nil, 0o600))
}

// runsNone waits until no agent with this task runs on the machine.
func (m machine) runsNone(task string) {
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
	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGSTOP))
	slept := time.Now()
	run := desk.until(id, ended)
	t.Logf("noticed after %v", time.Since(slept))
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Reason, "worker lost")
	assert.Equal(t, "at work", run.Outcome.Text, "what it said is kept")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "WAIT", "it goes on beside its worker")

	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGCONT))
	box.runsNone("WAIT")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
	leavesNothing(t, box.home)
	box.goesOn()
	again := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentCompleted, again.State, "the worker goes on: %+v", again.Outcome)
	still := desk.agent(id)
	assert.Equal(t, []any{run.State, run.Outcome}, []any{still.State, still.Outcome}, "it ended once")
}

// The hub is killed and comes back later, and so do the machines' connections. It is away for longer
// than a follower waits until its worker has ended an agent.
func TestAgentsEndDespiteAKilledHub(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	worker := box.worker("--slots", "3")
	first, second, unwanted := desk.away("WAIT for me"), desk.away("WAIT for me too"), desk.away("FOREVER")
	for _, id := range []string{first, second, unwanted} {
		desk.until(id, talks)
	}
	h.end(t, syscall.SIGKILL)
	desk.flame("agents", "cancel", unwanted)
	cancelled := desk.until(unwanted, ended)
	assert.Equal(t, core.AgentCancelled, cancelled.State)
	assert.Contains(t, cancelled.Outcome.Error, "flame tells the worker to stop as soon as it can")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "FOREVER", "its machine knows nothing of that")
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
	box.runsNone("FOREVER")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
	assert.Equal(t, 3, strings.Count(box.flame("agents", "runs"), "completed"), "none was run twice")
	assert.Regexp(t, `the hub is away.*\n.*the hub is back\n`, worker.said, "with no message in between, however often it tried")
	leavesNothing(t, box.home)
}

// hangs waits until git hangs, and returns its process.
func (m machine) hangs() (pid int) {
	var told []byte
	require.Eventually(m, func() (hangs bool) {
		var err error
		told, err = os.ReadFile(filepath.Join(m.home, "hangs"))
		return err == nil
	}, hubPatience, 20*time.Millisecond)
	pid, err := strconv.Atoi(strings.TrimSpace(string(told)))
	require.NoError(m, err)
	return pid
}

// hasEnded reports whether a process has ended, even if its parent has not waited for it.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
}

func TestAgentsEndDespiteAHangingGit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		never string // what the worker's remote never answers
		stop  func(desk machine, id string, worker process)
		state core.AgentState
	}{
		"a cancelled agent before its start": {
			"git-upload-pack*", func(desk machine, id string, _ process) { desk.flame("agents", "cancel", id) }, core.AgentCancelled,
		},
		"a completed agent with a stopped worker": {
			"git-receive-pack*", func(_ machine, _ string, worker process) {
				require.NoError(t, worker.cmd.Process.Signal(syscall.SIGTERM))
			}, core.AgentCompleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk, box, _ := two(t)
			box.reaches(tt.never)
			worker := box.worker()
			id := desk.away("make the file")
			git := box.hangs()
			tt.stop(desk, id, worker)
			began := time.Now()
			run := desk.until(id, ended)
			t.Logf("ended after %v", time.Since(began))
			assert.Equal(t, tt.state, run.State, "%+v", run.Outcome)
			require.Eventually(t, func() bool { return hasEnded(git) }, hubPatience, 20*time.Millisecond, "git goes on")
			patch := filepath.Join(dataOf(t, desk), "agents", id, "changes.patch")
			if tt.state == core.AgentCompleted {
				require.Len(t, run.Changes, 1)
				gitSays(t, desk.checkout, "apply", "--check", patch)
			} else {
				assert.NoFileExists(t, patch)
				assert.NotContains(t, box.flame("agents", "runs"), "make the file", "nothing is left of it")
			}
		})
	}
}
