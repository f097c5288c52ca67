// Package worker runs agents on other machines: an asker puts their tasks into a queue of the hub,
// and a worker takes them out.
package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"flame/agents"
	"flame/agents/remote"
	"flame/core"
	"flame/hub"
	"flame/hub/queue"
)

// A Requester has workers elsewhere run agents (an agents.RemoteRunner).
type Requester struct {
	Data string // data folder of the project, whose hub.json says where the hub is
}

var _ agents.RemoteRunner = Requester{}

// Ready returns an error unless the project has joined a hub.
func (a Requester) Ready() error {
	_, err := a.link()
	return err
}

func (a Requester) link() (hub.Link, error) {
	link, err := hub.Load(a.Data)
	if errors.Is(err, fs.ErrNotExist) {
		err = agents.NotJoined()
	}
	return link, err
}

// Unserved says that no worker serves a queue, by the latest status of the connection.
func (a Requester) Unserved(name string) string {
	status, err := hub.LoadStatus(a.Data)
	if err != nil {
		return "" // not known
	}
	return status.Unserved(name, core.MillisOf(time.Now()))
}

// Run puts work into a queue and calls see with its progress.
func (a Requester) Run(ctx context.Context, e agents.RemoteTask, see func(agents.RemoteProgress)) error {
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
		report, err := remote.ReadReport(body)
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
