// Package queue lets machines work for each other through a hub. A job waits in a stream until
// a worker claims it. The record of its run names the worker, and each write names the version of
// the record that it replaces. So a worker that was presumed dead, and was replaced by another
// worker, notices that before it does harm.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"flame/core"
	"flame/core/merge"
	"flame/flame-hub/client"
	"flame/hub"
)

// Limits of jobs, records and orders, in bytes of JSON unless noted otherwise.
const (
	maxJob     = 900 << 10
	maxRecord  = 900 << 10
	maxOrder   = 16 << 10
	maxRetries = 10
	maxReason  = 300 // characters
	maxID      = 128
	maxQueue   = hub.MaxQueue
)

// errDamaged is the error for a job or record on the hub that flame did not write.
var errDamaged = errors.New("it cannot be read")

// damaged returns errDamaged for a record in words for people.
func damaged(id string) error {
	return &core.Problem{Kind: core.ErrInvalid, Message: "the hub's record of job " + id + " was not written by flame", Cause: errDamaged}
}

// A Job is work that one machine asks others for.
type Job struct {
	ID      string          `json:"id"`    // letters, digits, - and _
	Queue   string          `json:"queue"` // of the same characters
	Retries int             `json:"retries,omitempty"`
	Asker   string          `json:"asker"` // the machine; set by Put
	Body    json.RawMessage `json:"body"`
}

// A State says how far a job has come.
type State string

// The states of a job. The final states are Ended and Lost.
const (
	Queued  State = "queued"
	Running State = "running"
	Ended   State = "ended" // ended by its worker, or cancelled before a worker started it
	Lost    State = "lost"  // its worker is gone, and no retries are left
)

// A JobRecord is the record of a job.
type JobRecord struct {
	Job      string          `json:"job"`
	State    State           `json:"state"`
	Queue    string          `json:"queue"`
	Asker    string          `json:"asker"`
	Retries  int             `json:"retries,omitempty"`
	Attempt  int             `json:"attempt,omitempty"` // 1 for the first
	Worker   string          `json:"worker,omitempty"`  // the machine of the last attempt
	Claim    string          `json:"claim,omitempty"`   // distinguishes the attempts of one machine
	At       core.Millis     `json:"at"`                // when it was written, by the writer's clock
	Progress json.RawMessage `json:"progress,omitempty"`
	Outcome  json.RawMessage `json:"outcome,omitempty"`
	Reason   string          `json:"reason,omitempty"` // why it ended without an outcome, or is lost
}

// Final reports whether the state is final.
func (r JobRecord) Final() bool { return r.State == Ended || r.State == Lost }

// usedUp reports whether the job has no retries left.
func (r JobRecord) usedUp() bool { return r.Attempt > r.Retries }

// lose changes r to the record of a job whose worker is gone.
func (r *JobRecord) lose() {
	r.State, r.Reason = Lost, "worker lost: "+r.Worker+" stopped reporting"
}

// A Command is the asker's order about a job that it has put.
type Command struct {
	Cancel bool   `json:"cancel,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// checkName returns an error unless a text can be a part of a subject.
func checkName(kind, text string, most int) error {
	if !hub.IsName(text, most) {
		return core.Invalidf("%q cannot be the %s", core.OneLine(text, most), kind).WithHint("use letters, digits, - and _, at most %d of them", most)
	}
	return nil
}

// checkID returns an error unless a text can be the id of a job.
func checkID(id string) error { return checkName("id of a job", id, maxID) }

// text returns the job as JSON.
func (j Job) text() ([]byte, error) {
	if err := errors.Join(checkID(j.ID), checkName("name of a queue", j.Queue, maxQueue)); err != nil {
		return nil, err
	}
	if j.Retries < 0 || j.Retries > maxRetries {
		return nil, core.Invalidf("a job cannot have %d retries", j.Retries).WithHint("0 to %d", maxRetries)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, core.Invalidf("the body of job %s is not JSON: %v", j.ID, err)
	}
	if len(text) > maxJob {
		return nil, core.Invalidf("job %s has %d KB, and the hub accepts %d", j.ID, len(text)>>10, maxJob>>10).
			WithHint("shorten its task, or name a file of the repository in it")
	}
	return text, nil
}

// jobOf reads a job from a message to the subject of this queue and id. Any machine may have
// sent it.
func jobOf(text []byte, queue, id string) (j Job, err error) {
	if len(text) > maxJob {
		return j, errDamaged
	}
	err = json.Unmarshal(text, &j)
	if err != nil || j.ID != id || j.Queue != queue || !hub.IsName(id, maxID) || !merge.ValidMachine(j.Asker) || j.Retries < 0 || j.Retries > maxRetries {
		return Job{}, errDamaged
	}
	return j, nil
}

// runOf reads the record of a job. Any machine may have written it.
func runOf(text []byte, id string) (r JobRecord, err error) {
	if len(text) > maxRecord {
		return r, damaged(id)
	}
	err = json.Unmarshal(text, &r)
	switch {
	case err != nil, r.Job != id, !hub.IsName(r.Queue, maxQueue), !merge.ValidMachine(r.Asker), r.Retries < 0, r.Retries > maxRetries,
		r.Attempt < 0, r.Attempt > maxRetries+1, r.Worker != "" && !merge.ValidMachine(r.Worker), r.Claim != "" && !hub.IsName(r.Claim, maxID):
		return JobRecord{}, damaged(id)
	}
	switch r.State {
	case Queued, Ended, Lost:
	case Running:
		if r.Worker == "" || r.Claim == "" || r.Attempt == 0 {
			return JobRecord{}, damaged(id)
		}
	default:
		return JobRecord{}, damaged(id)
	}
	r.Reason = core.OneLine(r.Reason, maxReason)
	return r, nil
}

// orderOf reads an order, which any machine may have written. It returns an empty order for an
// unreadable one.
func orderOf(text []byte) Command {
	var o Command
	if len(text) > maxOrder || json.Unmarshal(text, &o) != nil {
		return Command{}
	}
	o.Reason = core.OneLine(o.Reason, maxReason)
	return o
}

// cancelled returns the reason for the record of a job that the order cancels.
func (o Command) cancelled() string {
	if o.Reason == "" {
		return "cancelled"
	}
	return core.OneLine(o.Reason, maxReason)
}

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
		if !client.IsMismatch(err) {
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
