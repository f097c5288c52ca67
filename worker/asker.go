// Package worker has agents run on other machines than the one that asks for them: it puts
// what they are to do into a queue of the hub, and takes it out there.
package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"flame/agents"
	"flame/agents/away"
	"flame/agents/carry"
	"flame/core"
	"flame/hub"
	"flame/hub/queue"
)

// An Asker has workers elsewhere run agents (an agents.Elsewhere).
type Asker struct {
	Data string // data folder of the project, whose hub.json says where the hub is
}

var _ agents.Elsewhere = Asker{}

// Ready says whether the project has joined a hub.
func (a Asker) Ready() error {
	_, err := a.link()
	return err
}

func (a Asker) link() (hub.Link, error) {
	link, err := hub.Load(a.Data)
	if errors.Is(err, fs.ErrNotExist) {
		err = agents.NotJoined()
	}
	return link, err
}

// Unserved says that no worker serves a queue, as the process that is connected noted last.
func (a Asker) Unserved(name string) string {
	status, err := hub.LoadStatus(a.Data)
	if err != nil {
		return "" // not known
	}
	return status.Unserved(name, core.MillisOf(time.Now()))
}

// Run puts work into a queue and tells how far it is.
func (a Asker) Run(ctx context.Context, e agents.Errand, see func(agents.Sight)) error {
	link, err := a.link()
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
		if err := q.Put(ctx, job); err != nil {
			return err
		}
		out := reader{q: q, job: job.ID, print: e.Print}
		defer out.end()
		err := q.Follow(ctx, job.ID, func(r queue.Run) error {
			out.end(r.Attempt)
			see(sightOf(r))
			out.begin(ctx, r.Attempt)
			return nil
		})
		if errors.Is(err, core.ErrNotFound) {
			err = core.Unavailablef(err, "the hub has lost its data: %v", err) // it is put again
		}
		return err
	})
}

// A reader has what the attempts of a job print be told, one after the other.
type reader struct {
	q     *queue.Queue
	job   string
	print func(agents.Piece)

	attempt int // that is read
	stop    context.CancelFunc
	over    chan struct{}
}

// begin reads an attempt, unless that is read already or there is none yet.
func (r *reader) begin(ctx context.Context, attempt int) {
	if r.print == nil || attempt == 0 || attempt == r.attempt {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	r.attempt, r.stop, r.over = attempt, stop, over
	go func() {
		defer close(over)
		// Without it the output is seen at the end.
		_ = r.q.Printed(ctx, r.job, attempt, func(offset int64, piece []byte) { r.print(agents.Piece{Offset: offset, Text: piece}) })
	}()
}

// end stops reading, unless it is this attempt that is read.
func (r *reader) end(but ...int) {
	if r.attempt == 0 || slices.Contains(but, r.attempt) {
		return
	}
	r.stop()
	<-r.over
	r.attempt = 0
}

// sightOf returns how far a run of the hub's is, as agents see it.
func sightOf(r queue.Run) (s agents.Sight) {
	s.Attempt, s.Begun, s.Over = r.Attempt, r.Worker != "", r.State == queue.Ended || r.State == queue.Lost
	body := r.Progress
	if len(r.Outcome) > 0 {
		body = r.Outcome
	}
	if len(body) > 0 {
		report, err := away.ReadReport(body)
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
func (a Asker) Cancel(ctx context.Context, id, why string) error {
	return a.once(ctx, func(q *queue.Queue) error {
		return q.Order(ctx, id, queue.Order{Cancel: true, Reason: why})
	})
}

// Leave keeps something for the worker, under a name.
func (a Asker) Leave(ctx context.Context, name string, from io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(from, maxLeft+1))
	if err == nil && len(text) > maxLeft {
		err = core.Invalidf("what goes to the worker has over %d MB", maxLeft>>20)
	}
	if err != nil {
		return err
	}
	return a.inTime(ctx, func(q *queue.Queue) error { return q.PutObject(ctx, name, bytes.NewReader(text)) })
}

// Fetch writes what a worker left under a name.
func (a Asker) Fetch(ctx context.Context, name string, to io.Writer, most int64) error {
	return a.inTime(ctx, func(q *queue.Queue) error {
		var text bytes.Buffer // what was begun with one connection is not gone on with by another
		if err := q.Object(ctx, name, &text, most); err != nil {
			return err
		}
		_, err := text.WriteTo(to)
		return err
	})
}

// maxLeft bounds what an asker leaves for a worker, in bytes.
const maxLeft = carry.MaxBundle

// fileTime bounds how long a file is tried to be sent or got, while no hub answers.
const fileTime = 10 * time.Minute

// inTime calls f until it succeeds or that takes too long, with one connection after the other.
func (a Asker) inTime(ctx context.Context, f func(*queue.Queue) error) error {
	ctx, stop := context.WithTimeout(ctx, fileTime)
	defer stop()
	line := &line{Data: a.Data}
	defer line.close()
	return line.lasting(ctx, f)
}

// once calls f with a connection of its own.
func (a Asker) once(ctx context.Context, f func(*queue.Queue) error) error {
	line := &line{Data: a.Data}
	defer line.close()
	q, err := line.queue(ctx)
	if err != nil {
		return err
	}
	return f(q)
}
