package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// ErrFenced says that a job is another's now, or has ended: whoever runs it stops, and tells
// nobody what came of it.
var ErrFenced = errors.New("the job was given to another worker, or has ended")

// What is sent to the reply subject of a job's message.
var (
	inProgress = []byte("+WPI")
	ack        = []byte("+ACK")
)

// A Holder is the side of the process that runs a job. After any error but ErrFenced the
// job goes on: the same is tried again, if the connection is gone by Hold of another Queue
// with the Lease of this Holder.
type Holder struct {
	q *Queue

	mu       sync.Mutex
	lease    Lease
	progress json.RawMessage
}

// Hold returns the holder of a lease, which Next of this or another process returned.
func (q *Queue) Hold(lease Lease) *Holder { return &Holder{q: q, lease: lease} }

// Lease returns the lease as it is now.
func (h *Holder) Lease() Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// Beat says that the job goes on, and how far it is. It returns what its asker wants. It is
// called before the work begins, and then every Heartbeat.
func (h *Holder) Beat(ctx context.Context, progress json.RawMessage) (Order, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Of what a cluster did not answer there is time for a second attempt.
	ctx, stop := context.WithTimeout(ctx, h.q.AckWait/2)
	defer stop()
	h.progress = progress
	if err := h.write(ctx, Running, nil); err != nil {
		return Order{}, err
	}
	if reply := h.reply(); reply != "" {
		if err := h.q.conn.JetStream().Conn().Publish(reply, inProgress); err != nil {
			return Order{}, h.q.conn.Told(err)
		}
	}
	return h.q.order(ctx, h.lease.Job)
}

// End says what came of the job. It may be called again until it returns no error, or
// ErrFenced.
func (h *Holder) End(ctx context.Context, outcome json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.write(ctx, Ended, outcome); err != nil {
		return err
	}
	reply := h.reply()
	if reply == "" {
		return nil // a worker that is given the job sees that it has ended
	}
	ctx, stop := h.q.conn.Call(ctx, callTime)
	defer stop()
	_, err := h.q.conn.JetStream().Conn().RequestWithContext(ctx, reply, ack)
	return h.q.conn.Told(err)
}

// Orders calls see with what the asker of the job wants, as soon as it says so, until ctx
// ends or the connection is gone. Beat tells it too, but later.
func (h *Holder) Orders(ctx context.Context, see func(Order)) error {
	w, err := h.q.orders.Watch(ctx, h.lease.Job, jetstream.IgnoreDeletes())
	if err != nil {
		return h.q.conn.Told(err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.q.conn.Gone():
			return h.q.gone()
		case e, open := <-w.Updates():
			if !open {
				return h.q.gone()
			}
			if e != nil {
				see(orderOf(e.Value()))
			}
		}
	}
}

// reply returns where the hub is told of the job; empty if it lost its data since, and the
// message there is another's.
func (h *Holder) reply() string {
	stream := ".FLAME_" + h.q.conn.Link().Project + "_JOBS."
	if h.lease.Epoch != h.q.epoch || !strings.HasPrefix(h.lease.Reply, "$JS.ACK.") || !strings.Contains(h.lease.Reply, stream) ||
		strings.ContainsAny(h.lease.Reply, "*> \t\r\n") {
		return ""
	}
	return h.lease.Reply
}

// write writes the record, as long as the job is this holder's.
func (h *Holder) write(ctx context.Context, state State, outcome json.RawMessage) error {
	run := Run{
		Job: h.lease.Job, State: state, Queue: h.lease.Queue, Asker: h.lease.Asker, Retries: h.lease.Retries, Attempt: h.lease.Attempt,
		Worker: h.lease.Machine, Claim: h.lease.Claim, Progress: h.progress, Outcome: outcome,
	}
	if len(run.Progress)+len(outcome) > maxRecord/2 && state == Ended {
		run.Progress = nil // what came of it says more
	}
	for range tries {
		revision, err := h.q.write(ctx, run, h.lease.Revision)
		if err == nil {
			h.lease.Revision = revision
			return nil
		}
		if !hub.IsMismatch(err) {
			return err
		}
		if written, err := h.adopt(ctx, state); written || err != nil {
			return err
		}
	}
	return busy(h.lease.Job)
}

// adopt finds out why the record is not the one that this holder wrote last. If the answer
// to a write was lost, the hub lost its data, or somebody wrote nonsense, the job is this
// holder's still; written means that there is nothing more to write.
func (h *Holder) adopt(ctx context.Context, state State) (written bool, err error) {
	run, revision, err := h.q.find(ctx, h.lease.Job)
	if err != nil && !errors.Is(err, errDamaged) {
		return false, err
	}
	mine := run.Claim == h.lease.Claim
	switch {
	case run.State == "", run.State == Queued, run.State == Running && mine:
		h.lease.Revision = revision
		return false, nil
	case run.State == Ended && mine && run.Reason == "" && state == Ended:
		h.lease.Revision = revision
		return true, nil
	case revision < h.lease.Revision && h.lease.Epoch == h.q.epoch:
		return false, core.Unavailablef(nil, "the hub tells what is old of job %s", h.lease.Job) // a server of a cluster that lags behind
	}
	return false, ErrFenced
}
