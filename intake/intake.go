// Package intake takes in the events of hosts. A host waits only for a moment, so what
// cannot be handled in time goes into an inbox, and whoever can write next takes it from
// there first (DESIGN §4, "No event is lost").
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"flame/core"
	"flame/hosts"
	"flame/intake/inbox"
	"flame/project"
	"flame/project/turns"
)

// A Desk takes in events for one project.
type Desk struct {
	Project *project.Project
	Inbox   inbox.Inbox
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
// event that cannot be kept in that time is late: it is put into the inbox, with an
// answer that needs no change. An error means that the event made no sense, or that it
// is lost (ErrLost).
func (d Desk) Handle(ctx context.Context, host hosts.Host, letter Letter) (answer []byte, late bool, err error) {
	letter.Version, letter.Host = version, host.Name
	timed, stop := context.WithTimeout(ctx, host.Patience)
	defer stop()
	p := *d.Project
	var touched atomic.Bool
	if !d.isFirst(timed) {
		p.Store = onlyReads{p.Store, &touched}
	}
	answer, err = d.inTime(timed, &p, host.Hook, letter)
	if touched.Load() {
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

// isFirst reports whether nothing in the inbox has to be taken in before an event.
func (d Desk) isFirst(ctx context.Context) bool {
	if !d.Inbox.Waits() {
		return true
	}
	ctx, stop := context.WithTimeout(ctx, ahead)
	defer stop()
	return d.TakeIn(ctx) == nil
}

// keep puts an event into the inbox because of an error.
func (d Desk) keep(ctx context.Context, letter Letter, because error) error {
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

// inTime is handle for as long as ctx and a moment more. Then it gives up the event, so that
// the event is kept either here or in the inbox. A transaction that is committing by then,
// on a slow disk, may still be kept: an event with marks goes to the inbox all the same,
// as its marks tell those who take it in, and any other waits for the end of the commit.
// An event whose commit does not end in time may be kept twice, but is not lost.
func (d Desk) inTime(ctx context.Context, p *project.Project, hook hosts.Hook, letter Letter) ([]byte, error) {
	var way passing
	p.Store = passage{p.Store, &way}
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

// pace is how often a process that lives long looks into the inbox.
const pace = time.Second

// Keep takes in what waits in the inbox until ctx is done.
func Keep(ctx context.Context, d Desk) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	var r rhythm
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.beat(func() bool { return d.TakeWaiting(ctx) })
		}
	}
}

// A rhythm tries something at each beat. After a failure it leaves out as many beats
// as after the one before and as many again, at most a minute's: a lock that nobody gives
// back, or a damaged file, is not to be tried all the time.
type rhythm struct{ rest, pause int }

func (r *rhythm) beat(try func() (ok bool)) {
	switch {
	case r.rest > 0:
		r.rest--
	case try():
		r.pause = 0
	default:
		r.pause = min(2*r.pause+1, int(time.Minute/pace))
		r.rest = r.pause
	}
}

// TakeWaiting is TakeIn for those who can go on without: trouble is for the log. It
// reports whether there was none.
func (d Desk) TakeWaiting(ctx context.Context) bool {
	if !d.Inbox.Waits() {
		return true
	}
	err := d.TakeIn(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		d.Project.Log.Warn("the inbox could not be taken in", "error", err)
	}
	return err == nil
}

// onlyReads is a Store that cannot be written to for now, as events that came before are
// not in it yet.
type onlyReads struct {
	project.Store
	touched *atomic.Bool // it was read, or was to be written to
}

var errNotFirst = errors.New("events that came before wait in the inbox")

func (s onlyReads) View(ctx context.Context, f func(project.Tx) error) error {
	s.touched.Store(true)
	return s.Store.View(ctx, f)
}

func (s onlyReads) Update(context.Context, func(project.Tx) error) error {
	s.touched.Store(true)
	return errNotFirst
}

func (s onlyReads) Run(ctx context.Context, f func(project.Tx) error) error { return s.View(ctx, f) }
