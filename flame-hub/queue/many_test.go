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
	t.Parallel()
	effort.Heavy(t)
	for retries := range 2 {
		t.Run(fmt.Sprint(retries, " retries"), func(t *testing.T) {
			t.Parallel()
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
