package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flame/flame-hub/client"
	"flame/hub"
)

// patience is how long a test waits for what must happen, on however busy a machine.
const patience = 40 * time.Second

// A rig is a server in this process, which can be stopped and started again, and its times.
type rig struct {
	*testing.T
	options         server.Options
	running         *server.Server
	heartbeat, wait time.Duration
}

// newRig starts a server. What does not move for so long is redelivered by it.
func newRig(t *testing.T, heartbeat, wait time.Duration) *rig {
	r := &rig{T: t, heartbeat: heartbeat, wait: wait, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 8 << 20,
	}}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	options := r.options
	s, err := server.NewServer(&options)
	require.NoError(r, err)
	s.Start()
	require.True(r, s.ReadyForConnections(patience), "the server is not ready")
	r.running, r.options.Port = s, s.Addr().(*net.TCPAddr).Port
}

func (r *rig) stop() {
	r.running.Shutdown()
	r.running.WaitForShutdown()
}

// queue returns that of a machine, by a connection of its own.
func (r *rig) queue(machine string) *Queue {
	conn, err := client.Connect(r.ctx(), hub.Link{URL: fmt.Sprintf("nats://127.0.0.1:%d", r.options.Port), Project: "shop", Machine: machine})
	require.NoError(r, err)
	r.Cleanup(conn.Close)
	q, err := Open(r.ctx(), conn)
	require.NoError(r, err)
	q.Heartbeat, q.AckWait = r.heartbeat, r.wait
	return q
}

// ctx returns a context that ends with the test, or long after it should have.
func (r *rig) ctx() context.Context {
	ctx, stop := context.WithTimeout(r.Context(), 3*patience)
	r.Cleanup(stop)
	return ctx
}

// put puts a job.
func (r *rig) put(q *Queue, id string, retries int) {
	require.NoError(r, q.Submit(r.ctx(), Job{ID: id, Queue: "gpu", Retries: retries, Body: json.RawMessage(`{"task":"` + id + `"}`)}))
}

// next claims a job.
func (r *rig) next(q *Queue) (Lease, Job) {
	lease, job, err := q.Claim(r.ctx(), "gpu")
	require.NoError(r, err)
	return lease, job
}

// run returns the record of a job.
func (r *rig) run(q *Queue, id string) JobRecord {
	run, known, err := q.Find(r.ctx(), id)
	require.NoError(r, err)
	require.True(r, known, id)
	return run
}

// left returns how many jobs are in the stream.
func (r *rig) left(q *Queue) int {
	info, err := q.jobs.Info(r.ctx())
	require.NoError(r, err)
	return int(info.State.Msgs)
}

// emptied waits until no job is left in the stream.
func (r *rig) emptied(q *Queue) {
	require.Eventually(r, func() bool { return r.left(q) == 0 }, patience, 10*time.Millisecond)
}

// holding reports that the job of a lease continues, until it is stopped.
func (r *rig) holding(q *Queue, lease *Lease) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			_, _ = q.SendHeartbeat(ctx, lease, nil)
			select {
			case <-ctx.Done():
			case <-time.After(q.Heartbeat):
			}
		}
	})
	return func() { cancel(); wait.Wait() }
}

// follow follows a job, and returns its states; the error comes when Follow ends.
func (r *rig) follow(q *Queue, id string) (runs chan JobRecord, done chan error) {
	runs, done = make(chan JobRecord, 1000), make(chan error, 1)
	go func() { done <- q.Follow(r.ctx(), id, func(run JobRecord) error { runs <- run; return nil }) }()
	return runs, done
}

// becomes waits until a job that is followed has a state.
func (r *rig) becomes(runs chan JobRecord, state State) JobRecord {
	late := time.After(patience)
	for {
		select {
		case run := <-runs:
			if run.State == state {
				return run
			}
		case <-late:
			require.Fail(r, "the job does not become "+string(state))
		}
	}
}

// ends returns how Follow ended.
func (r *rig) ends(done chan error) error {
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		require.Fail(r, "Follow has not returned")
		return nil
	}
}

// eternal is a time in which nothing is redelivered while a test runs.
const eternal = time.Hour
