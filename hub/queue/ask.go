package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// Put has a job wait for a worker. To put the same id again is no error and changes nothing;
// so a job is put until there is no error, and again when Follow says that it is not found.
func (q *Queue) Put(ctx context.Context, j Job) error {
	j.Asker = q.conn.Link().Machine
	text, err := j.text()
	if err != nil {
		return err
	}
	if waits, err := q.record(ctx, j); !waits || err != nil {
		return err
	}
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	_, err = q.conn.JetStream().Publish(ctx, q.subject(j.Queue, j.ID), text, jetstream.WithExpectLastSequencePerSubject(0))
	if hub.IsMismatch(err) {
		return nil // it waits already
	}
	return q.conn.Told(err)
}

// record writes that a job waits, unless there is a record of it. It returns whether the job
// is to wait.
func (q *Queue) record(ctx context.Context, j Job) (waits bool, err error) {
	run, revision := Run{Job: j.ID, State: Queued, Queue: j.Queue, Asker: j.Asker, Retries: j.Retries}, uint64(0)
	for range tries {
		if _, err = q.write(ctx, run, revision); !hub.IsMismatch(err) {
			return err == nil, err
		}
		is, at, err := q.find(ctx, j.ID)
		if is.State != "" || err != nil {
			return is.State == Queued && is.Queue == j.Queue, damaged(j.ID, err)
		}
		revision = at
	}
	return false, busy(j.ID)
}

// damaged returns the error of a record as people should read it.
func damaged(id string, err error) error {
	if errors.Is(err, errDamaged) {
		return core.Invalidf("the hub's record of job %s was not written by flame", id)
	}
	return err
}

// busy is the error of a record that others write again and again.
func busy(id string) error {
	return core.Unavailablef(nil, "the hub's record of job %s changes all the time", id).WithHint("try again")
}

// Find returns what is known of a job; false if nothing is.
func (q *Queue) Find(ctx context.Context, id string) (Run, bool, error) {
	if err := checkID(id); err != nil {
		return Run{}, false, err
	}
	run, _, err := q.find(ctx, id)
	return run, run.State != "" || errors.Is(err, errDamaged), damaged(id, err)
}

// Order tells whoever runs a job what is wanted of it. A job that is cancelled before
// anybody began it ends at once. The order of a job that has ended has no effect; that of
// one that the hub does not know is core.ErrNotFound.
func (q *Queue) Order(ctx context.Context, id string, o Order) error {
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
	call, stop := q.conn.Call(ctx, callTime)
	defer stop()
	if _, err := q.orders.Put(call, id, text); err != nil {
		return q.conn.Told(err)
	}
	for range tries { // who claims it from now on reads the order
		run, revision, err := q.find(ctx, id)
		if err != nil || !o.Cancel || run.State != Queued {
			return damaged(id, err)
		}
		run.State, run.Reason = Ended, o.cancelled()
		if _, err = q.write(ctx, run, revision); err == nil {
			q.drop(ctx, run)
			return nil
		}
		if !hub.IsMismatch(err) {
			return err
		}
	}
	return busy(id)
}

// Follow calls see with the state that a job has and with each that it gets, until one is
// final, see returns an error, or ctx ends. Of states that follow each other fast, some may
// be left out. A job that the hub does not know, or no longer, is core.ErrNotFound: put it
// again. A job whose worker is gone, and that may not be tried again, is made lost.
func (q *Queue) Follow(ctx context.Context, id string, see func(Run) error) error {
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
			return q.gone()
		case e, open := <-w.Updates():
			switch {
			case !open:
				return q.gone()
			case e != nil && e.Operation() != jetstream.KeyValuePut:
				err = f.unknown()
			case e != nil:
				run, wrong := runOf(e.Value(), id)
				done, err = f.take(run, e.Revision(), wrong)
			case f.revision == 0: // that was all that there is
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
	see      func(Run) error
	run      Run
	revision uint64
	moved    time.Time // when the record changed last, by the clock of this machine, or it could not be seen whether it does
	looked   time.Time // when it was looked at last
	heard    bool      // the record changed since it was first seen: whoever runs the job has come back too, if the hub was away
}

// take takes a record in; done means that it is final.
func (f *follower) take(run Run, revision uint64, wrong error) (done bool, err error) {
	if revision <= f.revision {
		return false, nil
	}
	f.revision = revision
	if wrong != nil {
		f.q.Log.Warn("the record of a job cannot be read", "job", f.id)
		return false, nil
	}
	f.heard = f.heard || f.run.State != ""
	f.run, f.moved = run, time.Now()
	return run.Final(), f.see(run)
}

func (f *follower) unknown() error { return core.NotFoundf("the hub knows no job %s", f.id) }

// look finds out whether the hub knows the job still, and one that runs moves while this
// machine sees the hub.
func (f *follower) look(ctx context.Context) (done bool, err error) {
	began := time.Now()
	run, revision, err := f.q.find(ctx, f.id)
	now := time.Now()
	late := now.Sub(f.moved) > f.q.Heartbeat*3/2
	if now.Sub(began) > f.q.Heartbeat || began.Sub(f.looked) > 3*f.q.Heartbeat || late && !f.q.whole(ctx) {
		f.moved = time.Now() // the hub, or this process, was not there
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
		f.moved = now // if the connection is gone, that is told otherwise
		return false, nil
	}
	back := f.heard || now.Sub(f.q.opened) >= 2*f.q.AckWait
	if f.run.State == Running && back && now.Sub(f.moved) >= f.q.AckWait+f.q.Heartbeat/2 {
		f.settle(ctx)
	}
	return false, nil
}

// settle ends a job that does not move, unless a worker may try it again. The watch tells
// what became of it.
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
