package queue

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// Times of a queue. Whoever runs a job says so every Heartbeat; if nobody has said so for
// AckWait, the hub gives the job to another.
const (
	Heartbeat = 2 * time.Second
	AckWait   = 6 * time.Second
)

// callTime bounds a request to the hub, objectTime the way of a file.
const (
	callTime   = 5 * time.Second
	objectTime = 15 * time.Minute
)

// keepJobs is how long a job may wait, and orders and files are kept; keepRuns how long a
// record is after its last change.
const (
	keepJobs = 7 * 24 * time.Hour
	keepRuns = 30 * 24 * time.Hour
)

// tries is how often a record is written that changes under one's hands.
const tries = 5

// A Queue is what a project's machines ask of each other, by one connection: once that is
// gone, every call returns an error that core.ErrUnavailable matches, and whoever goes on
// opens another. It may be used by several goroutines; the fields may be changed before.
type Queue struct {
	Heartbeat time.Duration
	AckWait   time.Duration // the same on all machines, or the hub's changes with each
	Log       *slog.Logger

	conn    *hub.Conn
	jobs    jetstream.Stream
	runs    jetstream.KeyValue
	records jetstream.Stream // that of runs
	orders  jetstream.KeyValue
	objects jetstream.ObjectStore
	parts   []jetstream.Stream // all that it is kept in
	opened  time.Time
	epoch   int64       // when the stream was made: another if the hub lost its data
	refills time.Time   // when the hub was seen to have lost its data; zero: it was not
	prints  atomic.Bool // the stream of what workers print is there

	mu        sync.Mutex
	consumers map[string]jetstream.Consumer // by queue
}

// Open returns the queue of a connection's project.
func Open(ctx context.Context, conn *hub.Conn) (*Queue, error) {
	q := &Queue{
		Heartbeat: Heartbeat, AckWait: AckWait, Log: slog.New(slog.DiscardHandler), conn: conn, opened: time.Now(), consumers: map[string]jetstream.Consumer{},
	}
	ctx, stop := conn.Call(ctx, 2*callTime)
	defer stop()
	var err error
	if q.jobs, err = conn.Stream(ctx, jetstream.StreamConfig{
		Name: "FLAME_" + conn.Link().Project + "_JOBS", Subjects: []string{q.subject("", ">")}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, Compression: jetstream.S2Compression, MaxAge: keepJobs, AllowDirect: true,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}); err != nil {
		return nil, err
	}
	if info := q.jobs.CachedInfo(); info.Config.Retention != jetstream.WorkQueuePolicy {
		return nil, otherwise(info.Config.Name, "is no work queue")
	}
	q.epoch = q.jobs.CachedInfo().Created.UnixNano()
	q.runs, q.records, err = conn.Bucket(ctx, "runs", func(s *jetstream.StreamConfig) {
		s.AllowMsgTTL = true
		s.AllowDirect = false // a cluster whose leader is gone would tell what is old, and take nothing new
	})
	if err != nil {
		return nil, err
	}
	if config := q.records.CachedInfo().Config; !config.AllowMsgTTL {
		return nil, otherwise(config.Name, "lets no key expire")
	}
	var orders, objects jetstream.Stream
	if q.orders, orders, err = conn.Bucket(ctx, "orders", func(s *jetstream.StreamConfig) { s.MaxAge = keepJobs }); err != nil {
		return nil, err
	}
	if q.objects, objects, err = q.openObjects(ctx); err != nil {
		return nil, err
	}
	q.parts = []jetstream.Stream{q.jobs, q.records, orders, objects}
	return q, nil
}

// whole reports whether whoever connects now is answered, and all that the queue is kept in
// is there. A cluster that lost a server may know for some seconds what is asked of it alone,
// and not let in those who were connected to that server.
func (q *Queue) whole(ctx context.Context) bool {
	ctx, stop := q.conn.Call(ctx, q.AckWait/2)
	defer stop()
	_, err := q.conn.JetStream().AccountInfo(ctx)
	for _, part := range q.parts {
		if err == nil {
			_, err = part.Info(ctx)
		}
	}
	return err == nil
}

// Succeed has q be used in place of another, whose connection was lost. If the hub has lost
// its data since, jobs are claimed only once those who ran them had the time to say so.
func (q *Queue) Succeed(before *Queue) {
	if q.refills = before.refills; before.epoch != q.epoch {
		q.refills = q.opened
	}
}

// settled returns when all who ran jobs have had the time to come back.
func (q *Queue) settled() time.Time { return q.refills.Add(2 * q.AckWait) }

// Serve says that a worker of this machine serves a queue, and how many slots it has free;
// without slots, that it has ended. run tells it apart from others of the machine. Machines
// that hear nothing for some minutes believe that it has ended.
func (q *Queue) Serve(ctx context.Context, run string, s hub.Served) error {
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	machines, err := q.conn.Machines(ctx)
	if err != nil {
		return err
	}
	if s.Slots == 0 {
		return machines.Unserve(ctx, run)
	}
	return machines.Serve(ctx, run, s)
}

// otherwise returns the advice for a stream that is not as it has to be.
func otherwise(stream, what string) error {
	return core.Invalidf("the stream %s of the hub %s", stream, what).WithHint("delete it on the server; flame makes it again as it has to be")
}

// subject returns that of a job.
func (q *Queue) subject(queue, id string) string {
	if queue != "" {
		id = queue + "." + id
	}
	return "flame." + q.conn.Link().Project + ".job." + id
}

// gone is the error of a connection that has ended.
func (q *Queue) gone() error { return core.Unavailablef(nil, "the connection to the hub was lost") }

// find returns the record of a job and its revision. A job without one has no state; the
// revision may be that of a mark that it was removed. The error is errDamaged if flame did
// not write the record.
func (q *Queue) find(ctx context.Context, id string) (Run, uint64, error) {
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	m, err := q.records.GetLastMsgForSubject(ctx, q.key(id))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return Run{}, 0, nil
	case err != nil:
		return Run{}, 0, q.conn.Told(err)
	case m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "":
		return Run{}, m.Sequence, nil
	}
	run, err := runOf(m.Data, id)
	return run, m.Sequence, err
}

// key returns the subject of a job's record.
func (q *Queue) key(id string) string { return "$KV." + q.runs.Bucket() + "." + id }

// write replaces the record of this revision, 0 for none. The error is hub.IsMismatch if
// another was written since.
func (q *Queue) write(ctx context.Context, run Run, revision uint64) (uint64, error) {
	run.At = core.MillisOf(time.Now())
	text, err := json.Marshal(run)
	if err != nil {
		return 0, core.Invalidf("what is to be told of job %s is no JSON: %v", run.Job, err)
	}
	if len(text) > maxRecord {
		return 0, core.Invalidf("what is to be told of job %s has %d KB, and the hub takes %d", run.Job, len(text)>>10, maxRecord>>10)
	}
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	// The client's own update of a key would drop its end.
	m := &nats.Msg{Subject: q.key(run.Job), Data: text, Header: nats.Header{}}
	ack, err := q.conn.JetStream().PublishMsg(ctx, m, jetstream.WithMsgTTL(keepRuns), jetstream.WithExpectLastSequencePerSubject(revision))
	if hub.IsMismatch(err) {
		return 0, err
	}
	if err != nil {
		return 0, q.conn.Told(err)
	}
	return ack.Sequence, nil
}

// order returns what the asker of a job wants; nothing if it said nothing.
func (q *Queue) order(ctx context.Context, id string) (Order, error) {
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	e, err := q.orders.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Order{}, nil
	}
	if err != nil {
		return Order{}, q.conn.Told(err)
	}
	return orderOf(e.Value()), nil
}

// drop removes the job of a run that is final. If that fails, a worker does so when it
// comes to it.
func (q *Queue) drop(ctx context.Context, run Run) {
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	m, err := q.jobs.GetLastMsgForSubject(ctx, q.subject(run.Queue, run.Job))
	if err == nil {
		err = q.jobs.DeleteMsg(ctx, m.Sequence)
	}
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		q.Log.Info("a job stays on the hub, though nothing will become of it", "job", run.Job, "error", err)
	}
}
