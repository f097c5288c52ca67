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
	"flame/flame-hub/client"
)

// waitTime bounds one request for a job.
const waitTime = 20 * time.Second

// A Lease is a worker's right to one attempt of a job.
type Lease struct {
	JobRecord
	revision uint64 // of the record
	reply    string // the subject for reports on the job
	epoch    int64  // of the hub's data to which reply belongs
}

// Claim waits for a job of a queue and claims it. A worker calls it for each free slot. On the way
// it marks jobs as lost whose workers are gone and that have no retries left. After an error,
// unless ctx has ended, the caller opens another Queue if the connection is gone, and pauses.
func (q *Queue) Claim(ctx context.Context, queue string) (Lease, Job, error) {
	consumer, err := q.consumer(ctx, queue)
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
			q.Log.Warn("flame skips a job that it cannot read", "queue", queue, "job", core.OneLine(id, maxID))
			q.done(m)
			continue
		}
		if lease, claimed, err := q.claim(ctx, m, job); claimed || err != nil {
			return lease, job, err
		}
	}
}

// consumer returns the consumer of a queue, and makes it if it does not exist.
func (q *Queue) consumer(ctx context.Context, queue string) (c jetstream.Consumer, err error) {
	if err := checkName("name of a queue", queue, maxQueue); err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.consumers[queue]; c != nil {
		return c, nil
	}
	err = q.ask(ctx, func(ctx context.Context) (err error) {
		c, err = q.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: "q_" + queue, FilterSubject: q.subject(queue, "*"), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: q.AckWait, MaxDeliver: -1, MaxAckPending: q.AtOnce,
		})
		return err
	})
	if err == nil {
		q.consumers[queue] = c
	}
	return c, err
}

// forget drops the consumer of a queue, which the hub may have lost. Next makes it again.
func (q *Queue) forget(queue string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.consumers, queue)
}

// receive returns a message, or nil if none arrives within waitTime.
func (q *Queue) receive(ctx context.Context, c jetstream.Consumer) (m jetstream.Msg, err error) {
	err = q.conn.Ask(ctx, waitTime, "", func(ctx context.Context) error {
		var err error
		m, err = c.Next(jetstream.FetchContext(ctx))
		select {
		case <-q.conn.Gone():
			return client.ErrGone
		default:
		}
		if errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
			m, err = nil, nil
		}
		return err
	})
	if err != nil && !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrInvalid) {
		err = core.Unavailablef(err, "the hub gives no job: %v", err)
	}
	return m, err
}

// done removes the message of a job that does not need a worker.
func (q *Queue) done(m jetstream.Msg) {
	if err := m.Ack(); err != nil {
		q.Log.Info("a job stays on the hub", "error", err) // the hub delivers it again
	}
}

// claim claims a job, unless the job has ended or another worker runs it.
func (q *Queue) claim(ctx context.Context, m jetstream.Msg, j Job) (Lease, bool, error) {
	run, revision, err := q.find(ctx, j.ID)
	damaged := errors.Is(err, errDamaged)
	if run.State == "" { // damaged, or the hub lost it
		run = JobRecord{Job: j.ID, State: Queued, Queue: j.Queue, Asker: j.Asker, Retries: j.Retries}
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
		run.Attempt, run.Progress, run.Outcome, run.Reason = run.Attempt+1, nil, nil, ""
	}
	revision, err = q.write(ctx, run, revision)
	switch {
	case client.IsMismatch(err): // another worker was faster
		return Lease{}, false, nil
	case err != nil:
		return Lease{}, false, err
	case lost:
		q.done(m)
		return Lease{}, false, nil
	}
	return Lease{JobRecord: run, revision: revision, reply: m.Reply(), epoch: q.epoch}, true, nil
}

// still reports whether a record stays unchanged for 1.25 heartbeats or, after a lost connection,
// for the time in which other workers reconnect.
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
			return false, client.ErrGone
		case <-look.C:
		}
		_, now, err := q.find(ctx, id)
		if err != nil && !errors.Is(err, errDamaged) {
			return false, err
		}
		if now != revision || !q.whole(ctx) {
			return false, nil
		}
		_ = m.InProgress() // the next check notices a lost connection
	}
	return true, nil
}
