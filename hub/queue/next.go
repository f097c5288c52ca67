package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// waitTime is how long one request for a job waits.
const waitTime = 20 * time.Second

// DefaultCap is how many jobs of a queue run at once on all machines, if nothing else is said.
const DefaultCap = 8

// A Lease is one attempt of a job. It is a value that another process may be given.
type Lease struct {
	Job      string `json:"job"`
	Queue    string `json:"queue"`
	Asker    string `json:"asker"`
	Retries  int    `json:"retries,omitempty"`
	Machine  string `json:"machine"` // whose attempt it is
	Attempt  int    `json:"attempt"`
	Claim    string `json:"claim"`
	Revision uint64 `json:"revision"` // of the record
	Reply    string `json:"reply"`    // where the hub is told of the job
	Epoch    int64  `json:"epoch"`    // which data of the hub Reply is about
}

// Next waits for a job of a queue and claims it. Whoever has a free slot calls it; at
// most atOnce of the queue run at the same time on all machines, 0 for DefaultCap. A job whose worker is gone and that
// may not be tried again is made lost on the way. After an error other than ctx's, open
// another Queue if the connection is gone, and wait a little.
func (q *Queue) Next(ctx context.Context, queue string, atOnce int) (Lease, Job, error) {
	consumer, err := q.consumer(ctx, queue, atOnce)
	if err != nil {
		return Lease{}, Job{}, err
	}
	for {
		m, err := q.receive(ctx, consumer)
		if ctx.Err() != nil {
			return Lease{}, Job{}, context.Cause(ctx)
		}
		if err != nil {
			q.forget(queue)
			return Lease{}, Job{}, err
		}
		if m == nil {
			continue
		}
		id := strings.TrimPrefix(m.Subject(), q.subject(queue, ""))
		job, err := jobOf(m.Data(), queue, id)
		if err != nil {
			q.Log.Warn("a job that cannot be read is left out", "queue", queue, "job", core.OneLine(id, maxID))
			q.done(m)
			continue
		}
		if lease, claimed, err := q.claim(ctx, m, job); claimed || err != nil {
			return lease, job, err
		}
	}
}

// consumer returns that of a queue, which is made if it is not there.
func (q *Queue) consumer(ctx context.Context, queue string, atOnce int) (jetstream.Consumer, error) {
	if err := checkQueue(queue); err != nil {
		return nil, err
	}
	if atOnce < 0 || atOnce > maxCap {
		return nil, core.Invalidf("%d jobs of a queue cannot run at once", atOnce).WithHint("1 to %d; 0 means %d", maxCap, DefaultCap)
	}
	if atOnce == 0 {
		atOnce = DefaultCap
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.consumers[queue]; c != nil {
		return c, nil
	}
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	c, err := q.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "q_" + queue, FilterSubject: q.subject(queue, "*"), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: q.AckWait, MaxDeliver: -1, MaxAckPending: atOnce,
	})
	if err != nil {
		return nil, q.conn.Told(err)
	}
	q.consumers[queue] = c
	return c, nil
}

// forget has the consumer of a queue be made again, as the hub may have lost it.
func (q *Queue) forget(queue string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.consumers, queue)
}

// receive returns a message, or nil if there is none for a while.
func (q *Queue) receive(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	ctx, stop := q.conn.Call(ctx, waitTime)
	defer stop()
	m, err := c.Next(jetstream.FetchContext(ctx))
	select {
	case <-q.conn.Gone():
		return nil, q.gone()
	default:
	}
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	if err != nil {
		if told := q.conn.Told(err); told != err {
			return nil, told
		}
		return nil, core.Unavailablef(err, "the hub gives no job: %v", err)
	}
	return m, nil
}

// done removes a job that needs no worker.
func (q *Queue) done(m jetstream.Msg) {
	if err := m.Ack(); err != nil {
		q.Log.Info("a job stays on the hub", "error", err) // it comes again
	}
}

// claim claims a job, unless that has ended or another runs it.
func (q *Queue) claim(ctx context.Context, m jetstream.Msg, j Job) (Lease, bool, error) {
	run, revision, err := q.find(ctx, j.ID)
	damaged := errors.Is(err, errDamaged)
	if run.State == "" { // damaged, or the hub lost it
		run = Run{Job: j.ID, State: Queued, Queue: j.Queue, Asker: j.Asker, Retries: j.Retries}
	}
	switch {
	case err != nil && !damaged:
		return Lease{}, false, err
	case run.Final(), run.Queue != j.Queue:
		q.done(m)
		return Lease{}, false, nil
	case run.State == Running || damaged || time.Now().Before(q.settled()):
		if still, err := q.still(ctx, m, j.ID, revision); !still || err != nil {
			return Lease{}, false, err
		}
	}
	lost := run.State == Running && run.usedUp()
	switch {
	case damaged:
		run.State, run.Reason, lost = Lost, "the record of the job on the hub was damaged", true
	case lost:
		run.lose()
	default:
		run.State, run.Worker, run.Claim = Running, q.conn.Link().Machine, rand.Text()
		run.Attempt, run.Progress = run.Attempt+1, nil
	}
	revision, err = q.write(ctx, run, revision)
	switch {
	case hub.IsMismatch(err): // another was faster
		return Lease{}, false, nil
	case err != nil:
		return Lease{}, false, err
	case lost:
		q.done(m)
		return Lease{}, false, nil
	}
	return Lease{
		Job: j.ID, Queue: run.Queue, Asker: run.Asker, Retries: run.Retries, Machine: run.Worker, Attempt: run.Attempt, Claim: run.Claim,
		Revision: revision, Reply: m.Reply(), Epoch: q.epoch,
	}, true, nil
}

// still looks for a heartbeat and a quarter, or until the others had the time to come back
// after the connection was lost, whether a record changes. It returns true if it does not.
func (q *Queue) still(ctx context.Context, m jetstream.Msg, id string, revision uint64) (bool, error) {
	until := time.Now().Add(q.Heartbeat * 5 / 4)
	for _, others := range []time.Time{q.opened.Add(2 * q.AckWait), q.settled()} {
		if others.After(until) {
			until = others
		}
	}
	look := time.NewTicker(q.Heartbeat / 4)
	defer look.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-q.conn.Gone():
			return false, q.gone()
		case <-look.C:
		}
		_, now, err := q.find(ctx, id)
		if err != nil && !errors.Is(err, errDamaged) {
			return false, err
		}
		if now != revision || !q.whole(ctx) {
			return false, nil
		}
		_ = m.InProgress() // if the connection is gone, the next look tells so
	}
	return true, nil
}
