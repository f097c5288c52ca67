// Package intake handles the events of hosts. A host waits only for a moment, so an event that
// cannot be handled in time goes into an inbox. The next process that can write handles the inbox
// first.
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/turns"
)

// A Handler handles events for one project.
type Handler struct {
	Project *project.Project
	Inbox   Inbox
	Hosts   hosts.Registry
	OwnTool func(name string) bool // see hosts.HookEnv
}

// ErrLost is returned for an event that neither the store nor the inbox could keep.
var ErrLost = errors.New("an event is lost")

// How long an event may wait beyond its host's patience for a write that has begun, then
// for a commit that has, and for the inbox: hosts end hooks after 5 seconds. How long it
// waits for those that came before it.
const (
	grace          = 250 * time.Millisecond
	commitPatience = 2 * time.Second
	keepPatience   = 2 * time.Second
	ahead          = 120 * time.Millisecond
)

// Handle handles an event of host within the host's patience and returns the answer. An
// event that cannot be stored in that time is late: it goes into the inbox, with an answer
// that needs no change. An error means that the event made no sense, or is lost (ErrLost).
func (d Handler) Handle(ctx context.Context, host hosts.Host, queued QueuedEvent) (answer []byte, late bool, err error) {
	queued.Version, queued.Host = version, host.Name
	timed, stop := context.WithTimeout(ctx, host.Events.Patience)
	defer stop()
	answer, err = d.inTime(timed, host, queued)
	if !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return answer, false, err
	}
	// The event is kept even if the process is to end.
	keeping, stop := context.WithTimeout(context.WithoutCancel(ctx), keepPatience)
	defer stop()
	if host.Events.Compact != nil {
		queued.Event = host.Events.Compact(queued.Event)
	}
	return answer, true, d.keep(keeping, queued, err)
}

// keep puts an event into the inbox because of an error.
func (d Handler) keep(ctx context.Context, queued QueuedEvent, because error) error {
	if d.Project.HostProcess != nil {
		queued.Process = d.Project.HostProcess()
	}
	line, err := json.Marshal(queued)
	if err == nil {
		err = d.Inbox.Append(ctx, line)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLost, queued.Host, errors.Join(because, err))
	}
	d.Project.Log.Info("an event waits in the inbox", "host", queued.Host, "because", because)
	return nil
}

// inTime is handle until ctx ends, and a moment more for its end. The Store commits nothing that
// ends after ctx, so an event that is abandoned is not stored here, but for a commit that has begun
// by then, on a slow disk. An event with marks goes to the inbox all the same, as its marks show
// whether it is stored already; for any other, inTime waits. An event whose commit does not end in
// that time may be stored twice, but is not lost.
func (d Handler) inTime(ctx context.Context, host hosts.Host, queued QueuedEvent) ([]byte, error) {
	patience := host.Events.Patience + grace
	if queued.Source == "" {
		patience += commitPatience
	}
	over, done := time.After(patience), make(chan struct{})
	var answer []byte // as err, set once done is closed
	var err error
	go func() {
		defer close(done)
		grow()
		p, behind := *d.Project, &reader{Store: d.Project.Store}
		first, stop := context.WithTimeout(ctx, ahead)
		if d.TakeIn(first) != nil {
			p.Store = behind
		}
		stop()
		if answer, err = d.handle(ctx, &p, host.Events.Hook, queued); behind.used {
			err = errNotFirst
		}
	}()
	select {
	case <-done:
		return answer, err
	case <-over:
		return nil, context.DeadlineExceeded
	}
}

var errNotFirst = core.Unavailablef(nil, "earlier events wait in the inbox")

// A reader is a Store for an event while earlier events wait in the inbox: it is read-only.
type reader struct {
	project.Store
	used bool
}

func (r *reader) View(ctx context.Context, f func(project.Tx) error) error {
	r.used = true
	return r.Store.View(ctx, f)
}

func (r *reader) Run(ctx context.Context, f func(project.Tx) error) error { return r.View(ctx, f) }

func (r *reader) Update(context.Context, func(project.Tx) error) error {
	r.used = true
	return errNotFirst
}

// grow makes the stack of a new goroutine as large as SQLite needs it, while it holds next to
// nothing: growing step by step copies every frame five times, a twentieth of a hook's time.
//
//go:noinline
func grow() byte {
	var room [48 << 10]byte
	return room[len(os.Args)%len(room)]
}

// handle has a host's hook handle an event, with these marks and its own. A panic is an error.
func (d Handler) handle(ctx context.Context, p *project.Project, hook hosts.Hook, queued QueuedEvent, marks ...turns.EventID) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if queued.Source != "" {
		marks = append(marks, turns.EventID{Source: queued.Source, N: queued.N})
	}
	return hook(ctx, hosts.HookEnv{Project: p, OwnTool: d.OwnTool, Agent: queued.Agent, Marks: marks}, queued.Event)
}

// lookPace is how often a process that lives long looks into the inbox.
const lookPace = time.Second

// Run handles the events in the inbox until ctx is done.
func Run(ctx context.Context, d Handler) {
	for wait := lookPace; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			wait = pause(wait, d.TakeWaiting(ctx))
		}
	}
}

// pause returns how long to wait before the next look. After each failure in a row that is twice as
// long, at most a minute: a lock that stays held, or a damaged file, should not be tried all the time.
func pause(last time.Duration, ok bool) time.Duration {
	if ok {
		return lookPace
	}
	return min(2*last, time.Minute)
}

// TakeWaiting is TakeIn for callers that can continue without it: it logs errors. It
// reports whether there were none.
func (d Handler) TakeWaiting(ctx context.Context) bool {
	err := d.TakeIn(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		d.Project.Log.Warn("the events of the inbox could not be handled", "error", err)
	}
	return err == nil
}

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

// A ToolHook handles the events that a host reports by calling the server of its session.
type ToolHook struct {
	Handler Handler
	Host    hosts.Host // that has Calls
	Agent   string     // id of the agent in whose process the host runs; empty outside of agents
	Off     bool       // every event gets an empty answer, and nothing else is done
	// Worktree returns the root of the project's worktree that a folder is in.
	Worktree func(folder string) string
}

// Answer handles the event of a call and returns the answer, as a process of its own would
// (Handler.Handle). Errors go to the log: an event must never fail its host.
func (c ToolHook) Answer(ctx context.Context, arguments json.RawMessage) string {
	event, folder, err := c.Host.Events.Tool.Event(arguments)
	if err != nil {
		c.Handler.Project.Log.Warn("hook", "error", err)
		return c.Host.Events.Tool.Silence(nil)
	}
	if c.Off {
		return c.Host.Events.Tool.Silence(event)
	}
	queued := QueuedEvent{At: c.Handler.Project.Now(), Dir: c.Worktree(folder), Agent: c.Agent, Event: event}
	answer, _, err := c.Handler.Handle(ctx, c.Host, queued)
	if err != nil {
		c.Handler.Project.Log.Warn("hook", "error", err)
	}
	if len(answer) == 0 {
		return c.Host.Events.Tool.Silence(event)
	}
	return string(answer)
}
