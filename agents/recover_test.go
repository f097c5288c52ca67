package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/tests/processes"
)

// supervisor returns the process that watches over an agent, once it has begun.
func (s *service) supervisor(id string) (pid int) {
	s.t.Helper()
	s.eventually(func() bool {
		require.NoError(s.t, s.Project.Store.View(s.ctx, func(tx project.Tx) error {
			var live struct{ Supervisor supervise.Process }
			_, err := tx.Record("agent_live", id, &live)
			pid = live.Supervisor.PID
			return err
		}))
		return pid != 0
	}, "%s has no supervisor", id)
	return pid
}

// keeper returns the process that cleans up after an agent's supervisor.
func (s *service) keeper(id string) (pid int) {
	s.t.Helper()
	return s.marked(id, func(command string) bool { return strings.Contains(command, " supervise --keep ") })
}

// marked returns the process that bears an agent's mark and has such a command line; 0
// where none has.
func (s *service) marked(id string, such func(command string) bool) int {
	s.t.Helper()
	pid, _ := lo.Find(worksFor(s.t, id), func(pid int) bool { return such(processes.Command(pid)) })
	return pid
}

// killAtOnce ends a process, and waits until the system knows.
func (s *service) killAtOnce(pid int) {
	s.t.Helper()
	require.Greater(s.t, pid, 1)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	s.eventually(func() bool { return !processes.Runs(pid) }, "%d lives", pid)
}

// killSupervisor ends an agent's supervisor at once, and its keeper before that: what
// they leave is for others to recover.
func (s *service) killSupervisor(id string) {
	s.t.Helper()
	pid := s.supervisor(id)
	s.killAtOnce(s.keeper(id))
	s.killAtOnce(pid)
}

func TestAProcessWithoutItsMarkIsFound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file := filepath.Join(t.TempDir(), "pid")
	run := s.spawn("leave " + file + "; say half of it; hang")
	family := filepath.Join(s.Folder(run.ID), "family.json")
	var pid int
	s.eventually(func() bool { // until its supervisor has seen it
		told, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, _ = strconv.Atoi(string(told))
		kept, _ := os.ReadFile(family)
		return regexp.MustCompile(fmt.Sprintf(`"pid":%d,[^}]*"command":"[^"]* sleep"`, pid)).Match(kept)
	}, "the process is not known")
	s.killSupervisor(run.ID)
	assert.True(t, processes.Runs(pid), "it has left its supervisor's tree")
	require.NoError(t, s.Recover(s.ctx))
	assert.False(t, processes.Runs(pid))
}

func TestARecordedOutcomeHolds(t *testing.T) {
	t.Parallel()
	word, err := json.Marshal(supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "all of it"})
	require.NoError(t, err)
	tests := map[string]struct {
		outcome string
		state   core.AgentState
		frame   core.Status
		text    string
	}{
		"whole": {string(word), core.AgentCompleted, core.Completed, "all of it"},
		"torn":  {string(word[:20]), core.AgentOrphaned, core.Blocked, "half"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			run := s.spawn("say half; hang")
			s.until(run.ID, core.AgentActive)
			s.killSupervisor(run.ID)
			require.NoError(t, os.WriteFile(filepath.Join(s.Folder(run.ID), "outcome.json"), []byte(tt.outcome), 0o600))
			require.NoError(t, s.Recover(s.ctx))
			assert.Equal(t, tt.text, s.over(run.ID, tt.state, tt.frame).Outcome.Text)
		})
	}
}

func TestAnAgentWhoseSupervisorNeverBegan(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.startNone()
	run := s.spawn("done")
	require.NoError(t, s.Recover(s.ctx))
	found, err := s.Find(s.ctx, run.ID)
	require.NoError(t, err)
	assert.Equal(t, core.AgentInitializing, found.State, "its supervisor may still begin")
	s.shift.Add(30_000)
	require.NoError(t, s.Recover(s.ctx))
	run = s.over(run.ID, core.AgentError, core.Failed)
	assert.Contains(t, run.Outcome.Reason, "never began")
	_, err = supervise.Start(s.ctx, s.SupervisorSpec(run.ID, s.Dir))
	require.NoError(t, err)
	s.eventually(func() bool { return len(worksFor(t, run.ID)) == 0 }, "a late supervisor goes on")
	assert.NoFileExists(t, filepath.Join(s.Folder(run.ID), supervise.OutputFile), "a supervisor that begins too late starts no host")
	s.over(run.ID, core.AgentError, core.Failed)
}

func TestRecoverEndsTheFrameAfterACrashInBetween(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.startNone()
	run := s.spawn("done")
	require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
		run.State, run.EndedAt = core.AgentCompleted, s.Project.Now()
		run.Outcome = &supervise.Outcome{State: core.AgentCompleted, Text: "all of it"}
		return tx.SaveRecord("agent", run.ID, run)
	}))
	assert.Equal(t, core.InProgress, s.frame(run.Frame).Status)
	s.shift.Add(60_000)
	require.NoError(t, s.Recover(s.ctx))
	assert.Equal(t, core.Completed, s.frame(run.Frame).Status)
	live, err := s.Running(s.ctx)
	require.NoError(t, err)
	assert.Empty(t, live)
	ended := s.frame(run.Frame)
	require.NoError(t, s.Recover(s.ctx))
	assert.Equal(t, ended, s.frame(run.Frame), "once")
}
