package agents_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/tests/effort"
)

// seconds is how long a process of one test sleeps, which no other's does.
func seconds() string { return fmt.Sprintf("300.%09d", rand.IntN(1e9)) }

// sleepers returns the processes that sleep so long.
func sleepers(t *testing.T, seconds string) (pids []int) {
	t.Helper()
	for _, dir := range processes(t) {
		command, err := os.ReadFile(filepath.Join(dir, "cmdline")) // empty for zombies
		if err == nil && bytes.Contains(command, []byte(seconds)) && bytes.HasPrefix(command, []byte("sleep\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// parent returns the process that another one is a child of.
func parent(pid int) (above int) {
	stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")) // it may have ended
	_, after, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(after); len(fields) > 1 {
		above, _ = strconv.Atoi(fields[1])
	}
	return above
}

// supervising returns the process of an agent's supervisor as soon as there is one,
// whether it has begun or not. A child of the supervisor has its command line until it
// runs its own.
func (s *service) supervising(id string) (pid int) {
	s.t.Helper()
	s.eventually(func() bool {
		pid = s.marked(id, func(command string) bool {
			return strings.Contains(command, " supervise ") && !strings.Contains(command, " --keep ")
		})
		return pid != 0 && parent(pid) == s.keeper(id)
	}, "%s has no supervisor", id)
	return pid
}

func TestAnEarlyKilledSupervisorLeavesNothing(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	s := newServiceWith(t, func(k *kept) { k.Bounds.Concurrent = 100 })
	for _, after := range []time.Duration{0, 10, 50, 100, 200, 500} {
		for try := range 4 {
			t.Run(fmt.Sprintf("%d ms, %d", after, try), func(t *testing.T) {
				t.Parallel()
				long := seconds()
				run := s.spawn("escape " + long + "; say half; hang")
				supervisor := s.supervising(run.ID)
				time.Sleep(after * time.Millisecond)
				s.killAtOnce(supervisor)
				s.eventually(func() bool { return len(worksFor(t, run.ID)) == 0 }, "its keeper is left")
				s.eventually(func() bool { return len(sleepers(t, long)) == 0 }, "what got away is left")
				require.NoError(t, s.Recover(s.ctx))
				assert.True(t, s.ended(run.ID).Outcome.Partial)
			})
		}
	}
}

func TestEscapedProcessesEndWithTheSupervisor(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Bounds.Concurrent = 100 })
	for try := range 6 {
		long := seconds()
		run := s.spawn("escape " + long + "; hang")
		supervisor := s.supervising(run.ID)
		s.eventually(func() bool {
			away := sleepers(t, long)
			return len(away) == 1 && parent(away[0]) == supervisor
		}, "it has not got away")
		s.killAtOnce(supervisor)
		s.eventually(func() bool { return len(sleepers(t, long)) == 0 }, "try %d", try)
		s.eventually(func() bool { return len(worksFor(t, run.ID)) == 0 }, "its keeper is left")
		require.NoError(t, s.Recover(s.ctx))
		s.over(run.ID, core.AgentOrphaned, core.Blocked)
	}
}

func TestAKeeperThatIsKilledTakesNothingWithIt(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.spawn("wait " + filepath.Join(s.Dir, "go-on") + "; done all")
	s.until(run.ID, core.AgentActive)
	s.killAtOnce(s.keeper(run.ID))
	require.NoError(t, s.Recover(s.ctx))
	s.touch("go-on")
	assert.Equal(t, "all", s.over(run.ID, core.AgentCompleted, core.Completed).Outcome.Text)
}

func TestAKeeperDoesNotHeedSignalsToEnd(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.spawn("wait " + filepath.Join(s.Dir, "go-on") + "; done all")
	s.until(run.ID, core.AgentActive)
	keeper := s.keeper(run.ID)
	for range 3 {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			require.NoError(t, syscall.Kill(keeper, signal))
		}
	}
	s.touch("go-on")
	s.over(run.ID, core.AgentCompleted, core.Completed)
	s.eventually(func() bool { return !runs(keeper) }, "it stays after its supervisor")
}

// TestAgentsBelowOutliveAKilledSupervisor has an agent start another one, and kills
// the first one's supervisor.
func TestAgentsBelowOutliveAKilledSupervisor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		keep  bool
		state core.AgentState
		frame core.Status
	}{
		"and continue if they are to be kept":     {true, core.AgentCompleted, core.Completed},
		"until it is recovered, which stops them": {false, core.AgentCancelled, core.Blocked},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServiceWith(t, func(k *kept) { k.Keep = tt.keep })
			its, own := seconds(), seconds()
			outer := s.spawn("escape " + own + "; delegate escape " + its + " | wait " + filepath.Join(s.Dir, "go-on") + " | done all; hang")
			s.eventually(func() bool { return len(sleepers(t, its)) == 1 && len(sleepers(t, own)) == 1 }, "they do not work")
			inner := s.below(outer.ID)
			s.until(inner.ID, core.AgentActive)
			supervisor := s.supervising(inner.ID)
			require.Equal(t, s.supervising(outer.ID), parent(s.keeper(inner.ID)), "the keeper is not below the outer supervisor")
			s.killAtOnce(s.supervising(outer.ID))
			s.eventually(func() bool { return len(worksFor(t, outer.ID)) == 0 && len(sleepers(t, own)) == 0 }, "the outer agent is left")
			assert.True(t, runs(supervisor), "the inner agent's supervisor was killed")
			assert.Len(t, sleepers(t, its), 1, "the inner agent's process was killed")
			require.NoError(t, s.Recover(s.ctx))
			if tt.keep {
				s.touch("go-on")
			}
			s.over(inner.ID, tt.state, tt.frame)
			s.over(outer.ID, core.AgentOrphaned, core.Blocked)
			assert.Empty(t, sleepers(t, its))
		})
	}
}

// below returns the only agent that another one has started.
func (s *service) below(id string) record.Run {
	s.t.Helper()
	all, err := s.Below(s.ctx, "")
	require.NoError(s.t, err)
	for _, run := range all {
		if run.ParentAgent == id {
			return run
		}
	}
	require.Fail(s.t, "it has started none")
	return record.Run{}
}

func TestASupervisorLeavesNoZombiesOfAgentsBelow(t *testing.T) {
	t.Parallel()
	s := newService(t)
	outer := s.spawn("delegate done | x; delegate done | y; wait " + filepath.Join(s.Dir, "go-on") + "; done all")
	supervisor := s.supervising(outer.ID)
	s.eventually(func() bool { return len(s.events(outer.ID, core.SubagentStop)) == 0 && s.finishedBelow(outer.ID) == 2 }, "they do not end")
	s.eventually(func() bool { return len(zombies(t, supervisor)) == 0 }, "zombies stay")
	s.touch("go-on")
	s.over(outer.ID, core.AgentCompleted, core.Completed)
}

// finishedBelow counts the agents that one has started and that are over, with their
// processes.
func (s *service) finishedBelow(id string) (count int) {
	s.t.Helper()
	all, err := s.Below(s.ctx, "")
	require.NoError(s.t, err)
	for _, run := range all {
		if run.ParentAgent == id && run.State.Ended() && len(worksFor(s.t, run.ID)) == 0 {
			count++
		}
	}
	return count
}

// zombies returns the children of a process that are over and not taken from the
// system.
func zombies(t *testing.T, of int) (pids []int) {
	t.Helper()
	for _, dir := range processes(t) {
		if pid, _ := strconv.Atoi(filepath.Base(dir)); parent(pid) == of && !runs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// bystander starts a process that belongs to no agent, and returns what it was
// started as and a question whether it lives. A signal that was sent before the
// question takes effect before the answer.
func bystander(t *testing.T) (noted supervise.Process, lives func() bool) {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	require.NoError(t, err)
	_, place, _ := strings.Cut(supervise.Self().Started, "/")
	noted = supervise.Process{PID: cmd.Process.Pid, Started: strings.Fields(string(stat))[21] + "/" + place}
	lines := bufio.NewScanner(out)
	return noted, func() bool {
		_, err := fmt.Fprintln(in, "alive")
		return err == nil && lines.Scan()
	}
}

func TestAForgedRecordOfASupervisorKillsNoOtherProcess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		started func(p supervise.Process) string
		state   core.AgentState // that recovery puts the agent into
	}{
		"without a start":      {func(supervise.Process) string { return "" }, core.AgentCancelled},
		"with a start of none": {func(p supervise.Process) string { return "1" + p.Started }, core.AgentCancelled},
		"with its own start":   {func(p supervise.Process) string { return p.Started }, core.AgentActive},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			innocent, lives := bystander(t)
			run := s.spawn("say half; hang")
			s.until(run.ID, core.AgentActive)
			s.killSupervisor(run.ID)
			require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
				return tx.SaveRecord("agent_live", run.ID, map[string]any{
					"supervisor": supervise.Process{PID: innocent.PID, Started: tt.started(innocent)}, "since": s.Project.Now(),
				})
			}))
			require.True(t, innocent.Alive())
			_, err := s.Cancel(s.ctx, user, run.ID)
			require.NoError(t, err)
			require.NoError(t, s.Recover(s.ctx))
			assert.True(t, lives(), "an innocent process was killed")
			run, err = s.Find(s.ctx, run.ID)
			require.NoError(t, err)
			assert.Equal(t, tt.state, run.State)
		})
	}
}
