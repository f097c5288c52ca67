package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hub"
	"flame/tests/effort"
)

// workerEnv has the test binary be a worker: URL of the hub, machine and jobs that never end.
const workerEnv = "FLAME_QUEUE_TEST_WORKER"

func TestMain(m *testing.M) {
	if told := os.Getenv(workerEnv); told != "" {
		var url, machine, hangs string
		if _, err := fmt.Sscan(told, &url, &machine, &hangs); err != nil {
			panic(err)
		}
		workUntilKilled(url, machine, hangs)
	}
	if told := os.Getenv(serverEnv); told != "" {
		serveUntilKilled(told)
	}
	os.Exit(m.Run())
}

// The times of these processes, which are many for two processors.
const (
	processBeat = 500 * time.Millisecond
	processWait = 12 * time.Second
	processJobs = 10 // at a time, each
)

// workUntilKilled does jobs and prints what it does. Those whose id ends as hangs does never end.
func workUntilKilled(url, machine, hangs string) {
	ctx := context.Background()
	conn := must(hub.Connect(ctx, hub.Link{URL: url, Project: "shop", Machine: machine}))
	q := must(Open(ctx, conn))
	q.Heartbeat, q.AckWait = processBeat, processWait
	for range processJobs {
		go func() {
			for {
				lease, job := must2(q.Next(ctx, "gpu"))
				fmt.Println("begun", job.ID)
				for done := false; !done; time.Sleep(processBeat / 20) {
					_, _ = q.Beat(ctx, &lease, nil) // the next report repeats it
					done = !strings.HasSuffix(job.ID, hangs)
				}
				if q.End(ctx, &lease, json.RawMessage(`"`+machine+`"`)) == nil {
					fmt.Println("ended", job.ID)
				}
			}
		}()
	}
	<-conn.Gone()
	os.Exit(0)
}

func must2[T, U any](t T, u U, err error) (T, U) {
	if err != nil {
		panic(err)
	}
	return t, u
}

// A workerProcess is a worker that can be killed.
type workerProcess struct {
	cmd  *exec.Cmd
	over chan struct{} // closed when all was read that it said

	mu   sync.Mutex
	said map[string][]string // jobs, by what became of them
}

func (r *rig) worker(machine, hangs string) *workerProcess {
	r.Helper()
	w := &workerProcess{cmd: exec.Command(os.Args[0]), over: make(chan struct{}), said: map[string][]string{}}
	w.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=nats://127.0.0.1:%d %s %s", workerEnv, r.options.Port, machine, hangs))
	out, err := w.cmd.StdoutPipe()
	require.NoError(r, err)
	require.NoError(r, w.cmd.Start())
	r.Cleanup(w.kill)
	go func() {
		defer close(w.over)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			what, job, _ := strings.Cut(lines.Text(), " ")
			w.mu.Lock()
			w.said[what] = append(w.said[what], job)
			w.mu.Unlock()
		}
	}()
	return w
}

func (w *workerProcess) kill() {
	_ = w.cmd.Process.Kill() // it may be over
	<-w.over
	_ = w.cmd.Wait()
}

// jobs returns those that something became of and that end so.
func (w *workerProcess) jobs(what, suffix string) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.said[what] {
		if strings.HasSuffix(id, suffix) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Of two processes that do 200 jobs one is killed with some in its hands.
func TestTwoHundredJobsAndAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for _, retries := range []int{0, 1} {
		t.Run(fmt.Sprint(retries, " retries"), func(t *testing.T) {
			t.Parallel()
			const jobs = 200
			r := newRig(t, processBeat, processWait)
			laptop := r.queue("laptop")
			for i := range jobs {
				r.put(laptop, fmt.Sprint("job-", i), retries)
			}
			ends := r.finals(laptop)
			desk := r.worker("desk", "7")
			require.Eventually(t, func() bool { return len(desk.jobs("begun", "7")) > 2 }, patience, 10*time.Millisecond)
			couch := r.worker("couch", "none")
			require.Eventually(t, func() bool { return len(couch.jobs("ended", "")) > processJobs }, patience, 10*time.Millisecond)
			desk.kill()
			hung := desk.jobs("begun", "7")
			for _, id := range hung {
				_, done := r.follow(laptop, id)
				require.NoError(t, r.ends(done))
			}
			r.emptied(laptop)
			lost := map[string]bool{}
			for i := range jobs {
				run := r.run(laptop, fmt.Sprint("job-", i))
				require.True(t, run.Final(), "%+v", run)
				if run.State == Lost {
					lost[run.Job] = true
					assert.Equal(t, []any{"desk", 1}, []any{run.Worker, run.Attempt})
					assert.Contains(t, run.Reason, "worker lost: desk")
				} else {
					assert.Equal(t, `"`+run.Worker+`"`, string(run.Outcome), run.Job)
				}
			}
			for _, id := range hung {
				assert.Equal(t, retries == 0, lost[id], id)
				assert.Equal(t, retries+1, r.run(laptop, id).Attempt, id)
			}
			if retries > 0 {
				assert.Empty(t, lost)
			}
			for _, id := range append(desk.jobs("ended", ""), couch.jobs("ended", "")...) {
				assert.False(t, lost[id], "%s has ended", id)
			}
			r.eachOnce(ends, jobs)
		})
	}
}

// finals returns the jobs that become final from now on, each time that they do.
func (r *rig) finals(q *Queue) <-chan string {
	r.Helper()
	w, err := q.runs.WatchAll(r.ctx())
	require.NoError(r, err)
	ends := make(chan string, 10_000)
	go func() {
		for e := range w.Updates() {
			if e == nil {
				continue
			}
			if run, err := runOf(e.Value(), e.Key()); err == nil && run.Final() {
				ends <- run.Job
			}
		}
	}()
	return ends
}

// eachOnce checks that so many jobs became final, and each of them once.
func (r *rig) eachOnce(ends <-chan string, jobs int) {
	r.Helper()
	times := map[string]int{}
	for late := time.After(patience); len(times) < jobs; {
		select {
		case id := <-ends:
			times[id]++
		case <-late:
			require.Len(r, times, jobs)
		}
	}
	for len(ends) > 0 {
		times[<-ends]++
	}
	for id, n := range times {
		assert.Equal(r, 1, n, id)
	}
}
