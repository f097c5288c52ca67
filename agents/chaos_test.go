package agents_test

import (
	"math/rand/v2"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/samber/lo"
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
						if err := syscall.Kill(all[v.which%len(all)], syscall.SIGKILL); err != nil {
							assert.ErrorIs(t, err, syscall.ESRCH, "it may be gone already")
						}
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
			all := []*exec.Cmd{exec.Command(s.Program, "recover", s.Data), exec.Command(s.Program, "recover", s.Data)}
			for _, cmd := range all {
				require.NoError(t, cmd.Start())
			}
			for _, cmd := range all {
				require.NoError(t, cmd.Wait())
			}
			continue
		}
		break
	}
	close(ids)
	s.shift.Add(60_000) // who did not begin by now never will
	all := lo.ChannelToSlice(ids)
	for _, id := range all { // it may hang for want of a kill
		run, err := s.Find(s.ctx, id)
		require.NoError(t, err)
		if !run.State.Ended() {
			_, err = s.Cancel(s.ctx, user, id)
			require.NoError(t, err)
		}
	}
	for _, id := range all {
		s.eventually(func() bool {
			require.NoError(t, s.Recover(s.ctx))
			run, err := s.Find(s.ctx, id)
			require.NoError(t, err)
			return run.State.Ended()
		}, "%s does not end", id)
		run := s.ended(id)
		assert.NotEqual(t, core.InProgress, s.frame(run.Frame).Status)
		s.over(id, run.State, s.frame(run.Frame).Status)
	}
	state, err := transfer.Snapshot(s.ctx, s.Project, project.Caller{Host: project.CommandLine})
	require.NoError(t, err)
	open := lo.CountBy(lo.Values(state.Frames), func(frame transfer.StateFrame) bool { return frame.Status == core.InProgress })
	assert.Equal(t, 1, open, "only the person's own frame is open")
}
