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
		err = d.Inbox.Put(ctx, line)
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

// Keep handles the events in the inbox until ctx is done.
func Keep(ctx context.Context, d Handler) {
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
