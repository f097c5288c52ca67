// Package worker runs agents on other machines: another machine puts their tasks into a queue of the hub,
// and a worker takes them out.
package worker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"flame/agents"
	"flame/agents/record"
	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/queue"
	"flame/hub"
)

// A line is a connection to the queues of a project's hub. When the connection is lost, the
// line makes another. Several goroutines may use it.
type line struct {
	Data string
	Told func(error) // called once with the error when the connection is lost, and once with nil when it is back; may be nil

	mu   sync.Mutex
	conn *client.Conn
	q    *queue.Queue
	away bool // the last state that Told was called with
}

// queue returns the queues of the open connection, or of a new one.
func (l *line) queue(ctx context.Context) (*queue.Queue, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		select {
		case <-l.conn.Gone():
		default:
			return l.q, nil
		}
		l.conn.Close()
		l.conn = nil
	}
	err := l.open(ctx)
	if l.Told != nil && l.away != (err != nil) && ctx.Err() == nil {
		l.away = err != nil
		l.Told(err)
	}
	return l.q, err
}

// open makes a connection.
func (l *line) open(ctx context.Context) error {
	link, err := linkOf(l.Data)
	if err != nil {
		return err
	}
	conn, err := client.Connect(ctx, link)
	if err != nil {
		return err
	}
	q, err := queue.Open(ctx, conn)
	if err != nil {
		conn.Close()
		return err
	}
	if l.q != nil {
		q.ResumeFrom(l.q)
	}
	l.conn, l.q = conn, q
	return nil
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

// lasting calls f until it succeeds, fails for good, or ctx ends. If the connection was lost, it
// retries with the next one.
func (l *line) lasting(ctx context.Context, f func(*queue.Queue) error) (err error) {
	hub.Retry(ctx, func() (over bool) {
		var q *queue.Queue
		if q, err = l.queue(ctx); err == nil {
			err = f(q)
		}
		return !errors.Is(err, core.ErrUnavailable)
	})
	return err
}

// A worker announces itself every tellTime, and checks every lookTime whether its announcement
// has changed.
const (
	tellTime = time.Minute
	lookTime = time.Second
)

// sayTime bounds one announcement.
const sayTime = 3 * time.Second

// present announces on the hub what a worker serves, until it is over, and then that it has
// ended. It retries failed announcements; nothing waits for them.
func (l *line) present(ctx context.Context, over <-chan struct{}, serves func() hub.QueueStatus) {
	run, told, at := rand.Text(), hub.QueueStatus{}, time.Time{}
	tell := func(s hub.QueueStatus) error {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), sayTime)
		defer stop()
		q, err := l.queue(ctx)
		if err == nil {
			err = q.Serve(ctx, run, s)
		}
		return err
	}
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for {
		if s := serves(); s != told || time.Since(at) >= tellTime {
			look.Reset(hub.LongestPause)
			if err := tell(s); err == nil {
				told, at = s, time.Now()
				look.Reset(lookTime)
			}
		}
		select {
		case <-over:
			_ = tell(hub.QueueStatus{}) // otherwise the announcement expires in some minutes
			return
		case <-look.C:
		}
	}
}

// A Requester has workers elsewhere run agents, in this process (an agents.RemoteRunner).
type Requester struct{ hub.Client }

var _ agents.RemoteRunner = Requester{}

// linkOf returns the link of a project that has joined a hub.
func linkOf(data string) (hub.Link, error) {
	link, err := hub.Load(data)
	if errors.Is(err, fs.ErrNotExist) {
		err = agents.NoHubError()
	}
	return link, err
}

// Run puts work into a queue and calls see with its progress.
func (a Requester) Run(ctx context.Context, e agents.RemoteTask, see func(agents.RemoteProgress)) error {
	link, err := linkOf(a.Data)
	if err != nil {
		return err
	}
	body, err := json.Marshal(e.Work)
	if err != nil {
		return err
	}
	job := queue.Job{ID: e.Work.ID, Queue: e.Queue, Retries: e.Retries, Asker: link.Machine, Body: body}
	line := &line{Data: a.Data}
	defer line.close()
	return line.lasting(ctx, func(q *queue.Queue) error {
		if err := q.Submit(ctx, job); err != nil {
			return err
		}
		err := q.Follow(ctx, job.ID, func(r queue.JobRecord) error {
			see(sightOf(r))
			return nil
		})
		if errors.Is(err, core.ErrNotFound) {
			err = core.Unavailablef(err, "the hub has lost its data: %v", err) // lasting puts it again
		}
		return err
	})
}

// sightOf returns the progress of a run in the form of package agents.
func sightOf(r queue.JobRecord) (s agents.RemoteProgress) {
	s.Attempt, s.Begun, s.Over = r.Attempt, r.Worker != "", r.State == queue.Ended || r.State == queue.Lost
	body := r.Progress
	if len(r.Outcome) > 0 {
		body = r.Outcome
	}
	if len(body) > 0 {
		report, err := record.ReadReport(body)
		if err != nil && s.Over {
			s.Lost = err.Error()
		}
		s.Report = report
	}
	s.Report.Machine = r.Worker
	if s.Over && s.Report.Outcome == nil && s.Lost == "" {
		s.Lost = core.OneLine(r.Reason, 500)
	}
	return s
}

// Cancel has the worker stop an agent, or takes it out of its queue.
func (a Requester) Cancel(ctx context.Context, id, why string) error {
	line := &line{Data: a.Data}
	defer line.close()
	q, err := line.queue(ctx)
	if err != nil {
		return err
	}
	return q.Order(ctx, id, queue.Command{Cancel: true, Reason: why})
}

// Fetch writes a file that a worker left under a name.
func (a Requester) Fetch(ctx context.Context, name string, to io.Writer, most int64) error {
	ctx, stop := context.WithTimeout(ctx, fileTime)
	defer stop()
	line := &line{Data: a.Data}
	defer line.close()
	return line.lasting(ctx, func(q *queue.Queue) error {
		var text bytes.Buffer // each connection begins the file anew
		if err := q.Object(ctx, name, &text, most); err != nil {
			return err
		}
		_, err := text.WriteTo(to)
		return err
	})
}

// fileTime bounds the retries of fetching a file while no hub answers.
const fileTime = 10 * time.Minute
