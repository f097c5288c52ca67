package agents_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/tests/effort"
	"flame/tests/processes"
)

// seconds is how long a process of one test sleeps, which no other's does.
func seconds() string { return fmt.Sprintf("300.%09d", rand.IntN(1e9)) }

// sleepers returns the processes that sleep so long.
func sleepers(t *testing.T, seconds string) []int {
	t.Helper()
	return lo.Filter(processes.All(t), func(pid, _ int) bool { return processes.Command(pid) == "sleep "+seconds })
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
		return pid != 0 && processes.Parent(pid) == s.keeper(id)
	}, "%s has no supervisor", id)
	return pid
}

func TestEscapedProcessesEndWithTheSupervisor(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Bounds.Concurrent = 100 })
	waits := []time.Duration{-1} // until the process has got away
	if effort.Full() {
		waits = append(waits, 0, 10, 50, 100, 200, 500)
	}
	for _, after := range waits {
		for try := range 4 {
			t.Run(fmt.Sprintf("%d ms, %d", after, try), func(t *testing.T) {
				t.Parallel()
				long := seconds()
				run := s.spawn("escape " + long + "; say half; hang")
				supervisor := s.supervising(run.ID)
				time.Sleep(after * time.Millisecond)
				if after < 0 {
					s.eventually(func() bool {
						away := sleepers(t, long)
						return len(away) == 1 && processes.Parent(away[0]) == supervisor
					}, "it has not got away")
				}
				s.killAtOnce(supervisor)
				s.eventually(func() bool { return len(worksFor(t, run.ID)) == 0 }, "its keeper is left")
				s.eventually(func() bool { return len(sleepers(t, long)) == 0 }, "what got away is left")
				require.NoError(t, s.Recover(s.ctx))
				run = s.ended(run.ID)
				assert.True(t, run.Outcome.Partial)
				if after < 0 {
					s.over(run.ID, core.AgentOrphaned, core.Blocked)
				}
			})
		}
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
	s.eventually(func() bool { return !processes.Runs(keeper) }, "it stays after its supervisor")
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
			require.Equal(t, s.supervising(outer.ID), processes.Parent(s.keeper(inner.ID)), "the keeper is not below the outer supervisor")
			s.killAtOnce(s.supervising(outer.ID))
			s.eventually(func() bool { return len(worksFor(t, outer.ID)) == 0 && len(sleepers(t, own)) == 0 }, "the outer agent is left")
			assert.True(t, processes.Runs(supervisor), "the inner agent's supervisor was killed")
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
func (s *service) below(id string) record.Agent {
	s.t.Helper()
	all, err := s.AgentsBelow(s.ctx, id)
	require.NoError(s.t, err)
	require.Len(s.t, all, 1)
	return all[0]
}

func TestASupervisorLeavesNoZombiesOfAgentsBelow(t *testing.T) {
	t.Parallel()
	s := newService(t)
	outer := s.spawn("delegate done | x; delegate done | y; wait " + filepath.Join(s.Dir, "go-on") + "; done all")
	supervisor := s.supervising(outer.ID)
	s.eventually(func() bool {
		all, err := s.AgentsBelow(s.ctx, outer.ID)
		require.NoError(t, err)
		return len(s.events(outer.ID, core.SubagentStop)) == 0 &&
			lo.CountBy(all, func(run record.Agent) bool { return run.State.Ended() && len(worksFor(t, run.ID)) == 0 }) == 2
	}, "they do not end")
	s.eventually(func() bool {
		return lo.NoneBy(processes.All(t), func(pid int) bool { return processes.Parent(pid) == supervisor && !processes.Runs(pid) })
	}, "zombies stay")
	s.touch("go-on")
	s.over(outer.ID, core.AgentCompleted, core.Completed)
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
			b := processes.Stand(t, "/bin/sh", nil)
			innocent := b.Noted
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
			assert.True(t, b.Lives(), "an innocent process was killed")
			run, err = s.Find(s.ctx, run.ID)
			require.NoError(t, err)
			assert.Equal(t, tt.state, run.State)
		})
	}
}
