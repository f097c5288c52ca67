package queue

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/flame-hub/client"
	"flame/hub"
)

// Times of a queue. The worker of a job reports every Heartbeat; after AckWait without a
// report the hub gives the job to another worker.
const (
	Heartbeat = 2 * time.Second
	AckWait   = 6 * time.Second
)

// mostAtOnce bounds how many jobs of a queue run at a time: the slots of its workers are to
// decide.
const mostAtOnce = 1_000

// callTime bounds a request to the hub, objectTime the way of a file.
const (
	callTime   = 5 * time.Second
	objectTime = 15 * time.Minute
)

// keepJobs is how long jobs wait, and orders and files are kept; keepRuns how long a record is
// kept after its last change.
const (
	keepJobs = 7 * 24 * time.Hour
	keepRuns = 30 * 24 * time.Hour
)

// tries is how often a write is retried when the record has changed meanwhile.
const tries = 5

// A Queue has the jobs that a project's machines ask of each other, through one connection.
// Once that is gone, every call returns a core.ErrUnavailable, and the caller opens another
// Queue. Several goroutines may use it; change its fields only before.
type Queue struct {
	Heartbeat time.Duration
	AckWait   time.Duration // equal on all machines; otherwise each of them changes the hub's
	AtOnce    int           // the most jobs of a queue that run at a time on all machines; equal on all machines too
	Log       *slog.Logger

	conn    *client.Conn
	jobs    jetstream.Stream
	runs    *client.Bucket
	orders  *client.Bucket
	objects jetstream.ObjectStore
	parts   []jetstream.Stream // all its streams
	opened  time.Time
	epoch   int64     // when the stream was made; it changes when the hub loses its data
	refills time.Time // when flame noticed that the hub had lost its data; zero: it had not

	mu        sync.Mutex
	consumers map[string]jetstream.Consumer // by queue
}

// Open returns the queue of a connection's project.
func Open(ctx context.Context, conn *client.Conn) (*Queue, error) {
	q := &Queue{
		Heartbeat: Heartbeat, AckWait: AckWait, AtOnce: mostAtOnce, Log: slog.New(slog.DiscardHandler),
		conn: conn, opened: time.Now(), consumers: map[string]jetstream.Consumer{},
	}
	return q, conn.Ask(ctx, 2*callTime, "", q.open)
}

// open finds the streams of the queue, or makes them.
func (q *Queue) open(ctx context.Context) (err error) {
	if q.jobs, err = q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "FLAME_" + q.conn.Link().Project + "_JOBS", Subjects: []string{q.subject("", ">")}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, Compression: jetstream.S2Compression, MaxAge: keepJobs, AllowDirect: true,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}); err != nil {
		return err
	}
	if info := q.jobs.CachedInfo(); info.Config.Retention != jetstream.WorkQueuePolicy {
		return client.StreamConfigError(info.Config.Name, "is not a work queue")
	}
	q.epoch = q.jobs.CachedInfo().Created.UnixNano()
	if q.runs, err = q.conn.Bucket(ctx, "runs", func(s *jetstream.StreamConfig) {
		s.AllowMsgTTL = true
		s.AllowDirect = false // a cluster without a leader would return old values and accept no new ones
	}); err != nil {
		return err
	}
	if q.orders, err = q.conn.Bucket(ctx, "orders", func(s *jetstream.StreamConfig) { s.MaxAge = keepJobs }); err != nil {
		return err
	}
	var objects jetstream.Stream
	if q.objects, objects, err = q.openObjects(ctx); err != nil {
		return err
	}
	q.parts = []jetstream.Stream{q.jobs, q.runs.Stream, q.orders.Stream, objects}
	return nil
}

// ask calls f, which sends requests to the hub, with a context that bounds them.
func (q *Queue) ask(ctx context.Context, f func(context.Context) error) error {
	return q.conn.Ask(ctx, callTime, "", f)
}

// whole reports whether the hub answers, with all streams of the queue. For some seconds after
// a cluster lost a server, it may answer this machine and refuse those that were connected to
// that server.
func (q *Queue) whole(ctx context.Context) bool {
	return q.conn.Ask(ctx, q.AckWait/2, "", func(ctx context.Context) error {
		_, err := q.conn.JetStream().AccountInfo(ctx)
		for _, part := range q.parts {
			if err == nil {
				_, err = part.Info(ctx)
			}
		}
		return err
	}) == nil
}

// ResumeFrom makes q the successor of a queue whose connection was lost. If the hub has lost its
// data since, q claims a job only after its worker has had the time to report.
func (q *Queue) ResumeFrom(before *Queue) {
	if q.refills = before.refills; before.epoch != q.epoch {
		q.refills = q.opened
	}
}

// settled returns the time by which all workers should have reconnected.
func (q *Queue) settled() time.Time { return q.refills.Add(2 * q.AckWait) }

// Serve announces a worker of this machine, as Machines.Serve does.
func (q *Queue) Serve(ctx context.Context, run string, s hub.QueueStatus) error {
	return q.ask(ctx, func(ctx context.Context) error {
		machines, err := q.conn.Machines(ctx)
		if err != nil {
			return err
		}
		return machines.Serve(ctx, run, s)
	})
}

// subject returns the subject of a job.
func (q *Queue) subject(queue, id string) string {
	if queue != "" {
		id = queue + "." + id
	}
	return "flame." + q.conn.Link().Project + ".job." + id
}

// find returns the record of a job and its revision. A job without a record has no state; the
// revision may then be that of a deletion marker. The error is errDamaged if flame did not write
// the record.
func (q *Queue) find(ctx context.Context, id string) (JobRecord, uint64, error) {
	text, revision, err := q.runs.Last(ctx, id)
	if text == nil || err != nil {
		return JobRecord{}, revision, err
	}
	run, err := runOf(text, id)
	return run, revision, err
}

// write replaces the record of this revision, 0 for none. client.IsMismatch reports true for the
// error if another record was written since.
func (q *Queue) write(ctx context.Context, run JobRecord, revision uint64) (uint64, error) {
	run.At = core.MillisOf(time.Now())
	text, err := json.Marshal(run)
	if err != nil {
		return 0, core.Invalidf("the record of job %s is not JSON: %v", run.Job, err)
	}
	if len(text) > maxRecord {
		return 0, core.Invalidf("the record of job %s has %d KB, and the hub accepts %d", run.Job, len(text)>>10, maxRecord>>10)
	}
	return q.runs.Replace(ctx, run.Job, text, revision, keepRuns)
}

// order returns the order of a job's asker, or an empty one.
func (q *Queue) order(ctx context.Context, id string) (Command, error) {
	text, _, err := q.orders.Last(ctx, id)
	return orderOf(text), err
}

// drop removes the job of a final run. If that fails, the worker that receives the job removes it.
func (q *Queue) drop(ctx context.Context, run JobRecord) {
	err := q.ask(ctx, func(ctx context.Context) error {
		m, err := q.jobs.GetLastMsgForSubject(ctx, q.subject(run.Queue, run.Job))
		if err == nil {
			err = q.jobs.DeleteMsg(ctx, m.Sequence)
		}
		return err
	})
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		q.Log.Info("a job that will not run stays on the hub", "job", run.Job, "error", err)
	}
}

// openObjects returns the store of files and its stream, and makes it if it does not exist.
func (q *Queue) openObjects(ctx context.Context) (o jetstream.ObjectStore, s jetstream.Stream, err error) {
	name := "flame_" + q.conn.Link().Project + "_files"
	s, err = q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + name, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}, MaxAge: keepJobs, MaxBytes: -1,
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, AllowRollup: true, AllowDirect: true,
	})
	if err != nil {
		return nil, nil, err
	}
	o, err = client.RetryUntilAnswered(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return q.conn.JetStream().ObjectStore(ctx, name)
	})
	return o, s, q.conn.Told(err)
}

// PutObject stores the content of r on the hub for a week, under a name. It replaces an earlier
// file with that name.
func (q *Queue) PutObject(ctx context.Context, name string, r io.Reader) error {
	if err := checkName("name of a file on the hub", name, maxID); err != nil {
		return err
	}
	return q.conn.Ask(ctx, objectTime, "", func(ctx context.Context) error {
		_, err := q.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
		return err
	})
}

// Object writes a file of the hub to w. The error is core.ErrNotFound if there is no such
// file, and core.ErrInvalid if it has more than most bytes or is damaged. After an error, w may
// have received a part of the file.
func (q *Queue) Object(ctx context.Context, name string, w io.Writer, most int64) error {
	if err := checkName("name of a file on the hub", name, maxID); err != nil {
		return err
	}
	return q.conn.Ask(ctx, objectTime, "", func(ctx context.Context) error { return q.object(ctx, name, w, most) })
}

func (q *Queue) object(ctx context.Context, name string, w io.Writer, most int64) error {
	info, err := q.objects.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return core.NotFoundf("the hub has no file %s", name)
	}
	if err != nil {
		return err
	}
	if info.Opts != nil && info.Opts.Link != nil {
		return core.Invalidf("the file %s on the hub is a link, which flame does not make", name)
	}
	tooLarge := core.Invalidf("the file %s on the hub has more than %d bytes", name, most)
	if info.Size > uint64(most) {
		return tooLarge
	}
	object, err := q.objects.Get(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }()
	n, err := io.Copy(w, io.LimitReader(object, most+1))
	switch {
	case errors.Is(err, jetstream.ErrDigestMismatch):
		return core.Invalidf("the file %s on the hub is damaged", name)
	case err != nil:
		return err
	case n > most:
		return tooLarge
	case uint64(n) != info.Size:
		return core.Invalidf("the file %s on the hub is damaged: %d of %d bytes came", name, n, info.Size)
	}
	return nil
}
