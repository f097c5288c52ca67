package agents_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/project/transfer"
	"flame/tests/effort"
)

// TestAgentsKilledAtRandomAreRecovered kills supervisors and hosts while other processes
// recover: however it goes, each agent ends once, with its frame, and no process is
// left.
func TestAgentsKilledAtRandomAreRecovered(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	const count = 100
	s := newServiceWith(t, func(k *kept) { k.Bounds.Concurrent, k.Bounds.Total = count, count })
	random := rand.New(rand.NewPCG(7, 8))
	type victim struct {
		steps string
		after time.Duration // from its start to the kill
		which int           // of its processes
		kills int
	}
	victims := make(chan victim, count)
	for range count {
		victims <- victim{
			steps: []string{"say half; done all", "say half; hang", "leave; say half; hang", "say half; exit 1"}[random.IntN(4)],
			after: time.Duration(random.IntN(120)) * time.Millisecond, which: random.IntN(100), kills: 1 + random.IntN(2),
		}
	}
	close(victims)
	ids := make(chan string, count)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for v := range victims {
				run, err := s.Spawn(s.ctx, user, plan.Request{Type: "builder", Prompt: v.steps})
				if !assert.NoError(t, err) {
					return
				}
				ids <- run.ID
				time.Sleep(v.after)
				for range v.kills {
					if all := worksFor(t, run.ID); len(all) > 0 {
						kill(t, all[v.which%len(all)])
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
		case <-time.After(100 * time.Millisecond):
			s.recoverElsewhere(2)
			continue
		}
		break
	}
	close(ids)
	s.shift.Add(60_000) // who did not begin by now never will
	var all []string
	for id := range ids {
		s.stop(id)
		all = append(all, id)
	}
	for _, id := range all {
		s.settled(id)
	}
	state, err := transfer.Snapshot(s.ctx, s.Project, project.Caller{Host: project.CommandLine})
	require.NoError(t, err)
	open := 0
	for _, frame := range state.Frames {
		if frame.Status == core.InProgress {
			open++
		}
	}
	assert.Equal(t, 1, open, "only the person's own frame is open")
}

// stop cancels an agent that may hang for want of a kill.
func (s *service) stop(id string) {
	s.t.Helper()
	run, err := s.Find(s.ctx, id)
	require.NoError(s.t, err)
	if !run.State.Ended() {
		_, err := s.Cancel(s.ctx, user, id)
		require.NoError(s.t, err)
	}
}

// settled waits for the end of an agent, and checks it.
func (s *service) settled(id string) {
	s.t.Helper()
	s.eventually(func() bool {
		require.NoError(s.t, s.Recover(s.ctx))
		run, err := s.Find(s.ctx, id)
		require.NoError(s.t, err)
		return run.State.Ended()
	}, "%s does not end", id)
	run := s.ended(id)
	assert.NotEqual(s.t, core.InProgress, s.frame(run.Frame).Status)
	s.over(id, run.State, s.frame(run.Frame).Status)
}

// kill ends a process that belongs to the test; it may be gone already.
func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		assert.ErrorIs(t, err, syscall.ESRCH)
	}
}
