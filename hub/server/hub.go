// Package server is what `flame hub` runs: a nats-server, with a configuration that names
// each machine that has joined and what it may do. It also has both ends of joining.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"flame/core"
	"flame/hub"
	"flame/store/disk"
)

// A Hub is a server to be run, and what keeps its configuration up to date.
type Hub struct {
	Folder  Folder
	Listen  string // host:port; port 0: one that is free; empty: where it listened last, else DefaultListen
	Space   int64  // what each project may have on the disk, in bytes; 0: as last time, else DefaultSpace
	Program string // path of nats-server
	Now     func() time.Time
	Ready   func(address string) // told once machines can connect
	Say     func(text string)    // told of what somebody may want to know
}

// A running is a hub that runs.
type running struct {
	Hub
	admin  hub.Identity
	public string // key of admin
	conf   string // as the server has it
	child  *child
	stir   chan struct{} // the ledger was changed here
	asked  sync.Mutex    // held while a request is answered, or the server gets a configuration

	// What the server did not take last, if it was that which was given to it last.
	refused   string
	refusedAt time.Time
	refusal   error
}

// DefaultListen is reached by this machine alone.
const DefaultListen = "127.0.0.1:4222"

// pace is how often a hub looks whether its ledger was changed.
const pace = 500 * time.Millisecond

// startTime is how long a server may take until it answers. It reads its data first.
const startTime = time.Minute

// Run runs the hub until ctx ends, or its server does.
func (h Hub) Run(ctx context.Context) error {
	if err := h.Folder.prepare(); err != nil {
		return err
	}
	lock, err := h.Folder.own()
	if err != nil {
		return err
	}
	defer lock.Release()
	l, err := h.Folder.load()
	if err != nil {
		return err
	}
	if h.Listen, err = freePort(cmp.Or(h.Listen, l.Listen, DefaultListen)); err != nil {
		return err
	}
	// The kernel ends the server with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := &running{Hub: h, stir: make(chan struct{}, 1)}
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.child.stop()
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := r.serve(ctx, conn); err != nil {
		return err
	}
	h.Ready(h.Listen)
	return r.keep(ctx)
}

// own takes the folder for this process.
func (f Folder) own() (*disk.Lock, error) {
	wait, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	lock, err := disk.TakeLock(wait, f.file(hubLock))
	if held := (disk.LockHeld{}); errors.As(err, &held) {
		return nil, core.Invalidf("a hub runs in %s already, as process %d", f.Path, held.PID).WithHint("name another folder with --data, or end that one")
	}
	return lock, err
}

// CheckListen returns an error unless a hub can listen on an address.
func CheckListen(address string) error {
	if strings.HasPrefix(address, ":") {
		address = "0.0.0.0" + address
	}
	return checkAddress(address)
}

// freePort returns the address with a port instead of 0, and a host instead of none.
func freePort(listen string) (string, error) {
	if err := CheckListen(listen); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if port != "0" {
		return net.JoinHostPort(host, port), nil
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", core.Unavailablef(err, "%v", err)
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(host, port), errors.Join(err, l.Close())
}

// start writes the configuration and starts the server.
func (r *running) start(ctx context.Context) error {
	pin, err := r.Folder.certificate(r.Now())
	if err != nil {
		return err
	}
	var seed string // of this run alone
	if seed, r.public, err = newKey(); err != nil {
		return err
	}
	r.admin = hub.Identity{URL: scheme + "://" + reachedHere(r.Listen), Seed: seed, Pin: pin, Inbox: hub.InboxOf(r.public)}
	l, err := r.Folder.edit(ctx, func(l *ledger) error {
		l.Listen, l.Space = r.Listen, cmp.Or(r.Space, l.Space, DefaultSpace)
		l.expire(r.Now())
		return nil
	})
	if err != nil {
		return err
	}
	if free, known := r.Folder.free(); known && free < l.Space {
		r.Say(fmt.Sprintf("the disk of %s has %.1f GB free, and each project may have %.1f GB (--space): once the disk is full, no project goes on",
			r.Folder.Path, float64(free)/(1<<30), float64(l.Space)/(1<<30)))
	}
	r.conf = r.text(l)
	if err := r.Folder.write(confName, []byte(r.conf)); err != nil {
		return err
	}
	r.child, err = startChild(r.Program, r.Folder)
	return err
}

func (r *running) text(l ledger) string {
	return configuration{Dir: r.Folder.Path, Listen: r.Listen, Admin: r.public, Ledger: l}.text()
}

// connect waits for the server to answer.
func (r *running) connect(ctx context.Context) (*nats.Conn, error) {
	deadline := time.Now().Add(startTime)
	for {
		conn, err := r.admin.Dial(ctx, nats.MaxReconnects(-1), nats.ReconnectWait(pace), func(o *nats.Options) error {
			o.AllowReconnect = true
			return nil
		})
		if err == nil {
			return conn, nil
		}
		if errors.Is(err, core.ErrInvalid) {
			return nil, core.Unavailablef(err, "another server answers at %s", r.Listen).WithHint("end it, or name another address with --listen")
		}
		if time.Now().After(deadline) {
			return nil, core.Unavailablef(err, "the server did not answer for %v: %v", startTime, err).WithHint("its log: %s", r.Folder.file(logName))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.child.ended:
			return nil, r.child.problem()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// serve answers machines that join and leave.
func (r *running) serve(ctx context.Context, conn *nats.Conn) error {
	_, err := conn.Subscribe(joinSubject+"*", r.answering(ctx, conn, func(l *ledger, from string, q joining) error {
		return l.accept(from, Machine{Key: q.Key, ID: q.Machine, JoinedAt: core.MillisOf(r.Now())})
	}))
	if err != nil {
		return err
	}
	_, err = conn.Subscribe(leaveSubject+"*", r.answering(ctx, conn, func(l *ledger, from string, _ joining) error {
		l.remove(func(m Machine) bool { return m.Key == from })
		return nil
	}))
	if err != nil {
		return err
	}
	return conn.Flush()
}

// answering returns a handler of requests that change the ledger. The server vouches for the
// key, from, that a request comes from.
func (r *running) answering(ctx context.Context, conn *nats.Conn, change func(l *ledger, from string, q joining) error) nats.MsgHandler {
	return func(m *nats.Msg) {
		if strings.HasPrefix(m.Reply, "flame.") {
			return // the answer would be another's request
		}
		r.asked.Lock() // until the answer is sent: the server closes the connection of an invitation that was used
		defer r.asked.Unlock()
		said := answer{Version: protocol}
		if err := r.take(ctx, m.Subject, m.Data, change); err != nil {
			said.Error = err.Error()
			if problem := (*core.Problem)(nil); errors.As(err, &problem) {
				said.Hint = problem.Hint
			}
		}
		text, err := json.Marshal(said)
		if err == nil {
			err = errors.Join(m.Respond(text), conn.Flush())
		}
		if err != nil {
			r.Say("a machine got no answer: " + err.Error())
		}
		select {
		case r.stir <- struct{}{}:
		default:
		}
	}
}

// take does what a request asks for.
func (r *running) take(ctx context.Context, subject string, text []byte, change func(l *ledger, from string, q joining) error) error {
	var q joining
	if err := json.Unmarshal(text, &q); err != nil {
		return core.Invalidf("the request cannot be read")
	}
	if q.Version != protocol {
		return core.Invalidf("the request has version %d, and this flame knows version %d", q.Version, protocol).
			WithHint("use the same version of flame on both machines")
	}
	from := subject[strings.LastIndexByte(subject, '.')+1:]
	if err := q.verify(subject, from); err != nil {
		return err
	}
	_, err := r.Folder.edit(ctx, func(l *ledger) error { return change(l, from, q) })
	return err
}

// keep has the server know what is in the ledger, until ctx or the server ends.
func (r *running) keep(ctx context.Context) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.child.ended:
			return r.child.problem()
		case <-tick.C:
		case <-r.stir:
		}
		trouble := ""
		r.asked.Lock()
		err := r.refresh(ctx)
		r.asked.Unlock()
		if err != nil && ctx.Err() == nil {
			trouble = withHint(err)
		}
		switch {
		case trouble == said:
		case trouble == "":
			r.Say("the server knows all machines again")
		default:
			r.Say("the server goes on with the machines that it knows: " + trouble)
		}
		said = trouble
	}
}

// withHint returns an error and what to do about it.
func withHint(err error) string {
	if problem := (*core.Problem)(nil); errors.As(err, &problem) && problem.Hint != "" {
		return err.Error() + "; " + problem.Hint
	}
	return err.Error()
}

// refusedWait is how long a configuration that the server refused is not tried again.
const refusedWait = 5 * time.Second

// refresh gives the server another configuration if the ledger was changed. The error says
// why the server does not have what is in it.
func (r *running) refresh(ctx context.Context) error {
	l, err := r.Folder.load()
	if err != nil {
		return err
	}
	if now := core.MillisOf(r.Now()); slices.ContainsFunc(l.Invites, func(i invite) bool { return now >= i.Expires }) {
		if l, err = r.Folder.edit(ctx, func(l *ledger) error { l.expire(r.Now()); return nil }); err != nil {
			return err
		}
	}
	text := r.text(l)
	if text == r.conf && r.refusal == nil || text == r.refused && time.Since(r.refusedAt) < refusedWait {
		return r.refusal
	}
	if err := r.Folder.write(confName, []byte(text)); err != nil {
		return err
	}
	if r.refusal = r.child.reload(ctx); r.refusal != nil {
		r.refused, r.refusedAt = text, time.Now()
		return r.refusal
	}
	r.conf, r.refused = text, ""
	return nil
}

// Machines returns the machines that a hub knows, by project and id.
func (f Folder) Machines() ([]Machine, error) {
	if err := f.isHub(); err != nil {
		return nil, err
	}
	l, err := f.load()
	slices.SortFunc(l.Machines, func(a, b Machine) int {
		return strings.Compare(a.Project+"/"+a.ID, b.Project+"/"+b.ID)
	})
	return l.Machines, err
}

// Remove has a hub forget machines: those with this id, or PROJECT/ID.
func (f Folder) Remove(ctx context.Context, id string) (removed []Machine, err error) {
	if err := f.isHub(); err != nil {
		return nil, err
	}
	_, err = f.edit(ctx, func(l *ledger) error {
		if removed = l.remove(func(m Machine) bool { return m.ID == id || m.Project+"/"+m.ID == id }); len(removed) == 0 {
			return core.NotFoundf("no machine %s has joined", core.OneLine(fmt.Sprintf("%q", id), 2*maxName)).WithHint("`flame hub machines` lists them")
		}
		return nil
	})
	return removed, err
}
