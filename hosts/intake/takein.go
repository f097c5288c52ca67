package intake

import (
	"context"
	"encoding/json"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/turns"
)

// version is that of the queued events that this program writes and the newest it reads.
const version = 1

// A QueuedEvent is an event of a host, and what must be known to handle it later, in another
// process.
type QueuedEvent struct {
	Version int             `json:"v"`
	Host    string          `json:"host"`
	At      core.Millis     `json:"at"`               // when it happened
	Dir     string          `json:"dir,omitempty"`    // root of the worktree that it happened in
	Agent   string          `json:"agent,omitempty"`  // id of the agent in whose process it happened
	Source  string          `json:"source,omitempty"` // with N, its mark; empty: it comes once
	N       int64           `json:"n,omitempty"`
	Process project.Process `json:"process,omitzero"` // of the host
	Event   json.RawMessage `json:"event"`
}

// TakeIn handles the events in the inbox, in order, until ctx is done. It drops their answers. How
// far it has come is stored together with what an event changes, so the next call continues with
// the next line, even if this process is killed.
func (d Handler) TakeIn(ctx context.Context) error {
	took := false
	err := d.Inbox.Take(ctx, Taker{
		From: func(file string) (int64, error) { return turns.HandledFrom(ctx, d.Project, file) },
		Line: func(at turns.EventID, line []byte) error { took = true; return d.takeLine(ctx, at, line) },
	})
	if err == nil && took {
		err = turns.ForgetSources(ctx, d.Project)
	}
	return err
}

// takeLine handles the event of a line.
func (d Handler) takeLine(ctx context.Context, at turns.EventID, line []byte) error {
	var queued QueuedEvent
	err := json.Unmarshal(line, &queued)
	host, known := d.Hosts.Find(queued.Host)
	if err != nil || !known || host.Events.Hook == nil || queued.Version != version {
		d.Project.Log.Warn("flame cannot read an event in the inbox", "version", queued.Version, "host", queued.Host, "error", err)
		if err := turns.SaveHandled(ctx, d.Project, at); err != nil {
			return err
		}
		return d.Inbox.Quarantine(line)
	}
	at.Late = host.Name
	_, err = d.handle(ctx, d.then(queued), host.Events.Hook, queued, at)
	if err != nil && (errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil) {
		return errors.Join(err, ctx.Err())
	}
	if err != nil {
		d.Project.Log.Warn("hook", "error", err)
	}
	return turns.SaveHandled(ctx, d.Project, at) // if the event needed no transaction, or failed
}

// then returns the project as it was when a queued event happened.
func (d Handler) then(queued QueuedEvent) *project.Project {
	p := d.Project.Then(queued.At)
	p.Dir, p.Gateway, p.HostProcess = queued.Dir, "", nil
	if queued.Process != (project.Process{}) {
		p.HostProcess = func() project.Process { return queued.Process }
	}
	return p
}
