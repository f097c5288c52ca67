// Package intake handles the events of hosts. A host waits only for a moment, so an event that
// cannot be handled in time goes into an inbox. The next process that can write handles the inbox
// first (DESIGN §4, "No event is lost").
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

// A Desk handles events for one project.
type Desk struct {
	Project *project.Project
	Inbox   Inbox
	Hosts   hosts.Registry
	OwnTool func(name string) bool // see hosts.Flame
}

// ErrLost is returned for an event that neither the store nor the inbox could keep.
var ErrLost = errors.New("an event is lost")

// How long an event may wait beyond its host's patience for a write that has begun, then
// for a commit that has, and for the inbox: hosts end hooks after 5 seconds. How long it
// waits for those that came before it, and for their count.
const (
	grace          = 250 * time.Millisecond
	commitPatience = 2 * time.Second
	keepPatience   = 2 * time.Second
	ahead          = 120 * time.Millisecond
)

// Handle handles an event of host within the host's patience and returns the answer. An
// event that cannot be stored in that time is late: it goes into the inbox, with an answer
// that needs no change. An error means that the event made no sense, or is lost (ErrLost).
func (d Desk) Handle(ctx context.Context, host hosts.Host, letter Letter) (answer []byte, late bool, err error) {
	letter.Version, letter.Host = version, host.Name
	timed, stop := context.WithTimeout(ctx, host.Patience)
	defer stop()
	p, way := *d.Project, passing{behind: !d.isFirst(timed)}
	p.Store = passage{p.Store, &way}
	answer, err = d.inTime(timed, &p, &way, host.Hook, letter)
	if way.touched.Load() {
		err = core.Unavailablef(errors.Join(errNotFirst, err), "%v", errNotFirst)
	}
	if !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return answer, false, err
	}
	// The event is kept even if the process is to end.
	keeping, stop := context.WithTimeout(context.WithoutCancel(ctx), keepPatience)
	defer stop()
	if host.Keeps != nil {
		letter.Event = host.Keeps(letter.Event)
	}
	return answer, true, d.keep(keeping, letter, err)
}

// isFirst reports whether no event in the inbox has to be handled before this one.
func (d Desk) isFirst(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(ctx, ahead)
	defer stop()
	return d.TakeIn(ctx) == nil
}

// keep puts an event into the inbox because of an error.
func (d Desk) keep(ctx context.Context, letter Letter, because error) error {
	if d.Project.HostProcess != nil {
		letter.Process = d.Project.HostProcess()
	}
	line, err := json.Marshal(letter)
	if err == nil {
		err = d.Inbox.Put(ctx, line)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLost, letter.Host, errors.Join(because, err))
	}
	d.Project.Log.Info("an event waits in the inbox", "host", letter.Host, "because", because)
	return nil
}

// inTime is handle until ctx ends, and a moment more. Then it abandons the event, so that either
// this call or the inbox stores it. A transaction that is committing by then, on a slow disk, may
// still succeed: an event with marks goes to the inbox anyway, as its marks show whether it is
// stored already; for any other, inTime waits for the end of the commit. An event whose commit
// does not end in time may be stored twice, but is not lost.
func (d Desk) inTime(ctx context.Context, p *project.Project, way *passing, hook hosts.Hook, letter Letter) ([]byte, error) {
	done := make(chan handled, 1)
	go func() {
		grow()
		answer, err := d.handle(ctx, p, hook, letter, letter.marks())
		done <- handled{answer, err}
	}()
	r, ok := within(ctx.Done(), done)
	if !ok {
		r, ok = within(time.After(grace), done)
	}
	if !ok && way.giveUp() && letter.Source == "" {
		r, ok = within(time.After(commitPatience), done)
	}
	if !ok {
		return nil, ctx.Err()
	}
	return r.answer, r.err
}

// A handled is what handle returned.
type handled struct {
	answer []byte
	err    error
}

// within returns what done tells by the time that end comes.
func within[T any](end <-chan T, done <-chan handled) (r handled, ok bool) {
	select {
	case r = <-done:
		return r, true
	case <-end:
	}
	select {
	case r = <-done:
		return r, true
	default:
		return r, false
	}
}

// grow makes the stack of a new goroutine as large as SQLite needs it, while it holds next to
// nothing: growing step by step copies every frame five times, a twentieth of a hook's time.
//
//go:noinline
func grow() byte {
	var room [48 << 10]byte
	return room[len(os.Args)%len(room)]
}

// handle has a host's hook handle an event. A panic is an error.
func (d Desk) handle(ctx context.Context, p *project.Project, hook hosts.Hook, letter Letter, marks []turns.Mark) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return hook(ctx, hosts.Flame{Project: p, OwnTool: d.OwnTool, Agent: letter.Agent, Marks: marks}, letter.Event)
}

// lookPace is how often a process that lives long looks into the inbox.
const lookPace = time.Second

// Keep handles the events in the inbox until ctx is done.
func Keep(ctx context.Context, d Desk) {
	var r rhythm
	for range project.SteadilyAfter(ctx, lookPace, lookPace) {
		r.beat(func() bool { return d.TakeWaiting(ctx) })
	}
}

// A rhythm tries something at each beat. After each failure in a row it skips about twice as many
// beats, at most a minute's: a lock that stays held, or a damaged file, should not be tried all
// the time.
type rhythm struct{ rest, pause int }

func (r *rhythm) beat(try func() (ok bool)) {
	switch {
	case r.rest > 0:
		r.rest--
	case try():
		r.pause = 0
	default:
		r.pause = min(2*r.pause+1, int(time.Minute/lookPace))
		r.rest = r.pause
	}
}

// TakeWaiting is TakeIn for callers that can continue without it: it logs errors. It
// reports whether there were none.
func (d Desk) TakeWaiting(ctx context.Context) bool {
	err := d.TakeIn(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		d.Project.Log.Warn("the events of the inbox could not be handled", "error", err)
	}
	return err == nil
}
