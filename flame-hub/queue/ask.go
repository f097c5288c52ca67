package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/flame-hub/client"
)

// Submit has a job wait for a worker. Putting the same id again is no error and changes nothing.
// The caller repeats Put until it returns nil, and again after Follow has not found the job.
func (q *Queue) Submit(ctx context.Context, j Job) error {
	j.Asker = q.conn.Link().Machine
	text, err := j.text()
	if err != nil {
		return err
	}
	if waits, err := q.record(ctx, j); !waits || err != nil {
		return err
	}
	err = q.ask(ctx, func(ctx context.Context) error {
		_, err := q.conn.JetStream().Publish(ctx, q.subject(j.Queue, j.ID), text, jetstream.WithExpectLastSequencePerSubject(0))
		return err
	})
	if client.IsMismatch(err) {
		return nil // the job is waiting already
	}
	return err
}

// record writes the record of a waiting job, unless the job has a record. It reports whether the
// job is waiting.
func (q *Queue) record(ctx context.Context, j Job) (waits bool, err error) {
	run, revision := JobRecord{Job: j.ID, State: Queued, Queue: j.Queue, Asker: j.Asker, Retries: j.Retries}, uint64(0)
	for range tries {
		if _, err = q.write(ctx, run, revision); !client.IsMismatch(err) {
			return err == nil, err
		}
		is, at, err := q.find(ctx, j.ID)
		if is.State != "" || err != nil {
			return is.State == Queued && is.Queue == j.Queue, err
		}
		revision = at
	}
	return false, busy(j.ID)
}

// busy is the error for a record that other machines keep changing.
func busy(id string) error {
	return core.Unavailablef(nil, "the hub's record of job %s keeps changing", id).WithHint("try again")
}

// Find returns the record of a job, and whether there is one.
func (q *Queue) Find(ctx context.Context, id string) (JobRecord, bool, error) {
	if err := checkID(id); err != nil {
		return JobRecord{}, false, err
	}
	run, _, err := q.find(ctx, id)
	return run, run.State != "" || errors.Is(err, errDamaged), err
}

// Order gives the worker of a job an order. Cancelling a job that no worker has started ends
// it at once. An order for a job that has ended has no effect. If the hub does not know the job,
// the error is core.ErrNotFound.
func (q *Queue) Order(ctx context.Context, id string, o Command) error {
	run, known, err := q.Find(ctx, id)
	if err != nil {
		return err
	}
	if !known {
		return core.NotFoundf("the hub knows no job %s", id)
	}
	if run.Final() {
		return nil
	}
	o.Reason = core.OneLine(o.Reason, maxReason)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	err = q.ask(ctx, func(ctx context.Context) error {
		_, err := q.orders.Put(ctx, id, text)
		return err
	})
	if err != nil {
		return err
	}
	for range tries { // a worker that claims the job from now on reads the order
		run, revision, err := q.find(ctx, id)
		if err != nil || !o.Cancel || run.State != Queued {
			return err
		}
		run.State, run.Reason = Ended, o.cancelled()
		if _, err = q.write(ctx, run, revision); err == nil {
			q.drop(ctx, run)
			return nil
		}
		if !client.IsMismatch(err) {
			return err
		}
	}
	return busy(id)
}

// Follow calls see with the current state of a job and with each later state, until a state is
// final, see returns an error, or ctx ends. It may skip states in quick succession. If the hub does
// not know the job, or has lost it, the error is core.ErrNotFound: put it again. If the worker of
// a job is gone and no retries are left, Follow marks the job as lost.
func (q *Queue) Follow(ctx context.Context, id string, see func(JobRecord) error) error {
	if err := checkID(id); err != nil {
		return err
	}
	w, err := q.runs.Watch(ctx, id)
	if err != nil {
		return q.conn.Told(err)
	}
	defer func() { _ = w.Stop() }()
	look := time.NewTicker(q.Heartbeat)
	defer look.Stop()
	f := &follower{q: q, id: id, see: see, moved: time.Now(), looked: time.Now()}
	for done := false; !done && err == nil; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-q.conn.Gone():
			return client.ErrGone
		case e, open := <-w.Updates():
			switch {
			case !open:
				return client.ErrGone
			case e != nil && e.Operation() != jetstream.KeyValuePut:
				err = f.unknown()
			case e != nil:
				run, wrong := runOf(e.Value(), id)
				done, err = f.take(run, e.Revision(), wrong)
			case f.revision == 0: // the watch has delivered all values
				err = f.unknown()
			}
		case <-look.C:
			done, err = f.look(ctx)
		}
	}
	return err
}

// A follower follows one job.
type follower struct {
	q        *Queue
	id       string
	see      func(JobRecord) error
	run      JobRecord
	revision uint64
	moved    time.Time // when the record last changed, or this machine last could not see changes, by its own clock
	looked   time.Time // when look last ran
	heard    bool      // the record has changed since it was first seen: if the hub was away, the worker is back too
}

// take handles a new record and reports whether it is final.
func (f *follower) take(run JobRecord, revision uint64, wrong error) (done bool, err error) {
	if revision <= f.revision {
		return false, nil
	}
	f.revision = revision
	if wrong != nil {
		f.q.Log.Warn("flame cannot read the record of a job", "job", f.id)
		return false, nil
	}
	f.heard = f.heard || f.run.State != ""
	f.run, f.moved = run, time.Now()
	return run.Final(), f.see(run)
}

func (f *follower) unknown() error { return core.NotFoundf("the hub knows no job %s", f.id) }

// look checks that the hub still knows the job, and that the record of a running job changes
// while this machine can see the hub.
func (f *follower) look(ctx context.Context) (done bool, err error) {
	began := time.Now()
	run, revision, err := f.q.find(ctx, f.id)
	now := time.Now()
	late := now.Sub(f.moved) > f.q.Heartbeat*3/2
	if now.Sub(began) > f.q.Heartbeat || began.Sub(f.looked) > 3*f.q.Heartbeat || late && !f.q.whole(ctx) {
		f.moved = time.Now() // the hub was away, or this process did not run
	}
	f.looked = now
	switch {
	case err == nil && run.State == "":
		return false, f.unknown()
	case errors.Is(err, errDamaged), err == nil && revision > f.revision:
		if done, err = f.take(run, revision, err); done || err != nil {
			return done, err
		}
	case err != nil:
		f.moved = now // Follow notices a lost connection itself
		return false, nil
	}
	back := f.heard || now.Sub(f.q.opened) >= 2*f.q.AckWait
	if f.run.State == Running && back && now.Sub(f.moved) >= f.q.AckWait+f.q.Heartbeat/2 {
		f.settle(ctx)
	}
	return false, nil
}

// settle ends a job whose record no longer changes, unless retries are left. The watch delivers
// the outcome.
func (f *follower) settle(ctx context.Context) {
	run := f.run
	o, err := f.q.order(ctx, f.id)
	switch {
	case err != nil:
		return
	case o.Cancel:
		run.State, run.Reason = Ended, o.cancelled()
	case run.usedUp():
		run.lose()
	default:
		return
	}
	if _, err := f.q.write(ctx, run, f.revision); err == nil {
		f.q.drop(ctx, run)
	}
}
