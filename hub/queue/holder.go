package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"flame/core"
	"flame/hub"
)

// ErrFenced says that another worker has the job now, or that it has ended: its worker stops
// it and reports no outcome.
var ErrFenced = errors.New("another worker has the job, or it has ended")

// The messages to the reply subject of a job.
var (
	inProgress = []byte("+WPI")
	ack        = []byte("+ACK")
)

// SendHeartbeat reports that the job of a lease continues, and its progress. It returns the asker's order.
// A worker calls it before the work begins, and then every Heartbeat. After any error but
// ErrFenced the job continues, and the caller repeats the call; if the connection is gone, on
// another Queue. Only one goroutine at a time may use a lease.
func (q *Queue) SendHeartbeat(ctx context.Context, l *Lease, progress json.RawMessage) (Command, error) {
	// If a cluster does not answer, there is time for a second attempt.
	ctx, stop := context.WithTimeout(ctx, q.AckWait/2)
	defer stop()
	l.Progress = progress
	if err := q.hold(ctx, l, Running, nil); err != nil {
		return Command{}, err
	}
	if reply := q.replyOf(l); reply != "" {
		if err := q.conn.JetStream().Conn().Publish(reply, inProgress); err != nil {
			return Command{}, q.conn.Told(err)
		}
	}
	return q.order(ctx, l.Job)
}

// Finish reports the outcome of the job. The caller repeats it, as for Beat, until it returns nil
// or ErrFenced.
func (q *Queue) Finish(ctx context.Context, l *Lease, outcome json.RawMessage) error {
	if err := q.hold(ctx, l, Ended, outcome); err != nil {
		return err
	}
	reply := q.replyOf(l)
	if reply == "" {
		return nil // the next worker that receives the job sees that it has ended
	}
	return q.ask(ctx, func(ctx context.Context) error {
		_, err := q.conn.JetStream().Conn().RequestWithContext(ctx, reply, ack)
		return err
	})
}

// replyOf returns the subject for reports on the job; empty if the hub has lost its
// data since, and the subject belongs to another message.
func (q *Queue) replyOf(l *Lease) string {
	stream := ".FLAME_" + q.conn.Link().Project + "_JOBS."
	if l.epoch != q.epoch || !strings.HasPrefix(l.reply, "$JS.ACK.") || !strings.Contains(l.reply, stream) ||
		strings.ContainsAny(l.reply, "*> \t\r\n") {
		return ""
	}
	return l.reply
}

// hold writes the record of a lease, unless the lease has lost the job.
func (q *Queue) hold(ctx context.Context, l *Lease, state State, outcome json.RawMessage) error {
	run := l.JobRecord
	run.State, run.Outcome = state, outcome
	if len(run.Progress)+len(outcome) > maxRecord/2 && state == Ended {
		run.Progress = nil // the outcome says more
	}
	for range tries {
		revision, err := q.write(ctx, run, l.revision)
		if err == nil {
			l.revision = revision
			return nil
		}
		if !hub.IsMismatch(err) {
			return err
		}
		if written, err := q.adopt(ctx, l, state); written || err != nil {
			return err
		}
	}
	return busy(l.Job)
}

// adopt finds out why the record is not the one that was written last for a lease. If the answer
// to a write was lost, the hub lost its data, or the record is damaged, the lease still has
// the job; written means that nothing is left to write.
func (q *Queue) adopt(ctx context.Context, l *Lease, state State) (written bool, err error) {
	run, revision, err := q.find(ctx, l.Job)
	if err != nil && !errors.Is(err, errDamaged) {
		return false, err
	}
	mine := run.Claim == l.Claim
	switch {
	case run.State == "", run.State == Queued, run.State == Running && mine:
		l.revision = revision
		return false, nil
	case run.State == Ended && mine && run.Reason == "" && state == Ended:
		l.revision = revision
		return true, nil
	case revision < l.revision && l.epoch == q.epoch:
		return false, core.Unavailablef(nil, "the hub reports an old record of job %s", l.Job) // a server of a cluster that lags behind
	}
	return false, ErrFenced
}
