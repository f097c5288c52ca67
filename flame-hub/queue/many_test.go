package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/effort"
)

// A crew is a machine that does jobs, some at a time.
type crew struct {
	mu    sync.Mutex
	begun []string
	ended []string
}

// atOnce is how many jobs a crew does at the same time.
const atOnce = 10

// crew has a machine do jobs until ctx ends, without a word to the hub. Jobs whose id ends as
// hangs does never end.
func (r *rig) crew(ctx context.Context, machine, hangs string) *crew {
	c, q := &crew{}, r.queue(machine)
	var slots sync.WaitGroup
	for range atOnce {
		slots.Go(func() {
			for ctx.Err() == nil {
				lease, job, err := q.Claim(ctx, "gpu")
				if err != nil {
					continue
				}
				c.mu.Lock()
				c.begun = append(c.begun, job.ID)
				c.mu.Unlock()
				if strings.HasSuffix(job.ID, hangs) {
					defer r.holding(q, &lease)()
					<-ctx.Done()
					return
				}
				if q.Finish(ctx, &lease, json.RawMessage(`"`+machine+`"`)) == nil {
					c.mu.Lock()
					c.ended = append(c.ended, job.ID)
					c.mu.Unlock()
				}
			}
		})
	}
	r.Cleanup(slots.Wait)
	return c
}

// ends returns the jobs that the crew has ended.
func (c *crew) ends() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ended)
}

// hung returns the jobs that the crew has begun and whose id ends so.
func (c *crew) hung(suffix string) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.begun {
		if strings.HasSuffix(id, suffix) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Of two machines that do many jobs one is gone with some in its hands.
func TestEachOfManyJobsEndsOnce(t *testing.T) {
	effort.Heavy(t)
	for retries := range 2 {
		t.Run(fmt.Sprint(retries, " retries"), func(t *testing.T) {
			const jobs = 200
			r := newRig(t, 500*time.Millisecond, 12*time.Second)
			laptop := r.queue("laptop")
			for i := range jobs {
				r.put(laptop, fmt.Sprint("job-", i), retries)
			}
			first, gone := context.WithCancel(r.ctx())
			desk := r.crew(first, "desk", "7")
			require.Eventually(t, func() bool { return len(desk.hung("7")) > 2 }, patience, 10*time.Millisecond)
			second, stop := context.WithCancel(r.ctx())
			defer stop()
			couch := r.crew(second, "couch", "none")
			gone()
			hung := desk.hung("7")
			for _, id := range hung {
				_, done := r.follow(laptop, id)
				require.NoError(t, r.ends(done))
			}
			r.emptied(laptop)
			lost := map[string]bool{}
			for i := range jobs {
				run := r.run(laptop, fmt.Sprint("job-", i))
				require.True(t, run.Final(), "%+v", run)
				if lost[run.Job] = run.State == Lost; lost[run.Job] {
					assert.Equal(t, []any{"desk", 1}, []any{run.Worker, run.Attempt})
					assert.Contains(t, run.Reason, "worker lost: desk")
					assert.Zero(t, retries)
				} else {
					assert.Equal(t, `"`+run.Worker+`"`, string(run.Outcome), run.Job)
				}
			}
			ended := append(desk.ends(), couch.ends()...)
			for _, id := range ended {
				assert.False(t, lost[id], "%s has ended", id)
			}
			assert.Len(t, lo.Uniq(ended), len(ended), "each ends once")
			for _, id := range hung {
				assert.Equal(t, retries == 0, lost[id], id)
				assert.Equal(t, retries+1, r.run(laptop, id).Attempt, id)
			}
		})
	}
}

func TestABeatReportsToTheHubThatAJobContinues(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 0)
	lease, _ := r.next(desk)
	nc := laptop.conn.JetStream().Conn()
	told, err := nc.SubscribeSync(lease.reply)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	_, err = desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	require.NoError(t, desk.Finish(r.ctx(), &lease, nil))
	for _, want := range []string{"+WPI", "+ACK"} {
		m, err := told.NextMsgWithContext(r.ctx())
		require.NoError(t, err)
		assert.Equal(t, want, string(m.Data))
	}
}

// The hub is away for longer than what it waits for a worker.
func TestAHubThatIsAway(t *testing.T) {
	effort.Heavy(t)
	r := newRig(t, 200*time.Millisecond, 1500*time.Millisecond)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 1)
	lease, _ := r.next(desk)
	_, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	runs, done := r.follow(laptop, "job-1")
	r.becomes(runs, Running)
	waits := make(chan error, 1)
	go func() {
		_, _, err := desk.Claim(r.ctx(), "gpu")
		waits <- err
	}()
	r.stop()
	gone := time.Now()
	require.ErrorIs(t, r.ends(done), core.ErrUnavailable)
	require.ErrorIs(t, r.ends(waits), core.ErrUnavailable)
	_, err = desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.ErrorIs(t, desk.Finish(r.ctx(), &lease, nil), core.ErrUnavailable)
	require.ErrorIs(t, laptop.Submit(r.ctx(), Job{ID: "x", Queue: "gpu", Body: json.RawMessage("{}")}), core.ErrUnavailable)
	require.ErrorIs(t, laptop.Follow(r.ctx(), "job-1", func(JobRecord) error { return nil }), core.ErrUnavailable)
	require.Eventually(t, func() bool { return time.Since(gone) > 2*r.wait }, patience, 50*time.Millisecond)
	r.start()

	laptop, couch := r.queue("laptop"), r.queue("couch")
	couch.opened = time.Now().Add(patience) // others have the time to come back, on any machine
	runs, done = r.follow(laptop, "job-1")
	go func() {
		_, _, err := couch.Claim(r.ctx(), "gpu")
		waits <- err
	}()
	require.Eventually(t, func() bool { // the hub gives it to another, which looks
		c, err := laptop.jobs.Consumer(r.ctx(), "q_gpu")
		return err == nil && c.CachedInfo().Delivered.Consumer >= 2
	}, patience, 20*time.Millisecond)
	looks := time.Now()
	require.Eventually(t, func() bool { return time.Since(looks) > 2*r.heartbeat }, patience, 20*time.Millisecond)
	desk = r.queue("desk")
	stop := r.holding(desk, &lease)
	for range 10 { // as many heartbeats
		assert.Equal(t, 1, r.becomes(runs, Running).Attempt)
	}
	stop()
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{}`)))
	run := r.becomes(runs, Ended)
	assert.Equal(t, []any{1, "desk"}, []any{run.Attempt, run.Worker})
	require.NoError(t, r.ends(done))
	assert.Zero(t, r.left(laptop))
	select {
	case err := <-waits:
		assert.Fail(t, "the job was given to another", "%v", err)
	default:
	}
}

func TestAHubThatLostItsData(t *testing.T) {
	r := newRig(t, 200*time.Millisecond, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 0)
	lease, _ := r.next(desk)
	_, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	r.stop()
	r.options.StoreDir = t.TempDir()
	r.start()

	laptop, desk = r.queue("laptop"), r.queue("desk")
	require.ErrorIs(t, laptop.Follow(r.ctx(), "job-1", func(JobRecord) error { return nil }), core.ErrNotFound)
	r.put(laptop, "job-2", 0) // has the place in the stream that job-1 had
	r.put(laptop, "job-1", 0)
	_, err = desk.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err)
	assert.Equal(t, "desk", r.run(laptop, "job-1").Worker)
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`{}`)))
	assert.Equal(t, 2, r.left(laptop), "the job of another worker stays")
	r.put(laptop, "job-3", 0)
	for _, id := range []string{"job-2", "job-3"} {
		_, job := r.next(desk)
		assert.Equal(t, id, job.ID, "job-1 has ended")
	}
}

// A hub that lost its data gives a job to another before who runs it has come back.
func TestAJobIsNotBegunTwiceAfterTheHubLostItsData(t *testing.T) {
	r := newRig(t, 100*time.Millisecond, eternal)
	laptop, desk, couch := r.queue("laptop"), r.queue("desk"), r.queue("couch")
	r.put(laptop, "job-1", 0)
	lease, _ := r.next(desk)
	r.stop()
	r.options.StoreDir = t.TempDir()
	r.start()

	laptop = r.queue("laptop")
	r.put(laptop, "job-1", 0)
	before := couch
	couch = r.queue("couch")
	couch.ResumeFrom(before)
	waits := make(chan Lease, 1)
	ctx, giveUp := context.WithCancel(r.ctx())
	go func() {
		lease, _, _ := couch.Claim(ctx, "gpu")
		waits <- lease
	}()
	require.Eventually(t, func() bool { // the hub gives it to another, which looks
		c, err := laptop.jobs.Consumer(r.ctx(), "q_gpu")
		return err == nil && c.CachedInfo().Delivered.Consumer >= 1
	}, patience, 20*time.Millisecond)
	again := r.queue("desk")
	again.ResumeFrom(desk)
	_, err := again.SendHeartbeat(r.ctx(), &lease, nil)
	require.NoError(t, err, "the worker still runs the job")
	assert.Equal(t, "desk", r.run(laptop, "job-1").Worker)
	require.NoError(t, again.Finish(r.ctx(), &lease, json.RawMessage(`{}`)))
	giveUp()
	assert.Empty(t, (<-waits).Job)
	assert.Equal(t, Ended, r.run(laptop, "job-1").State)

	couch.AckWait, again.AckWait = 0, 0 // all had the time
	r.put(laptop, "job-2", 0)
	_, job := r.next(again)
	assert.Equal(t, "job-2", job.ID)
}

func TestTheAnswerToAWriteIsLost(t *testing.T) {
	r := newRig(t, time.Second, eternal)
	laptop, desk := r.queue("laptop"), r.queue("desk")
	r.put(laptop, "job-1", 0)
	lease, _ := r.next(desk)
	for range 3 {
		before := lease
		_, err := desk.SendHeartbeat(r.ctx(), &lease, nil)
		require.NoError(t, err)
		desk, lease = r.queue("desk"), before // it does not know what became of its heartbeat
	}
	again, late, other := lease, lease, lease
	require.NoError(t, desk.Finish(r.ctx(), &lease, json.RawMessage(`1`)))
	require.NoError(t, r.queue("desk").Finish(r.ctx(), &again, json.RawMessage(`1`)))
	_, err := desk.SendHeartbeat(r.ctx(), &late, nil)
	require.ErrorIs(t, err, ErrFenced)
	other.Claim = "of-the-same-machine"
	require.ErrorIs(t, desk.Finish(r.ctx(), &other, nil), ErrFenced)
}
