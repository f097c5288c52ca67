// Package server implements `flame hub`: it runs a nats-server with a configuration that names
// each machine that has joined and its permissions. It also implements both sides of joining.
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
	"time"

	"github.com/nats-io/nats.go"

	"flame/core"
	"flame/flame-hub/client"
	"flame/local/lock"
)

// A Hub runs a server and keeps its configuration up to date.
type Hub struct {
	Folder  Folder
	Listen  string // host:port; port 0: a free port; empty: the last address, else DefaultListen
	Space   int64  // of each project on the disk, in bytes; 0: as last time, else DefaultSpace
	Program string // path of nats-server
	Now     func() time.Time
	Ready   func(address string) // called once machines can connect
	Say     func(text string)    // called with news for people
}

// A running is a running hub.
type running struct {
	Hub
	admin  client.Identity // in the account of invited machines
	system client.Identity // in the system account
	conf   string          // the last configuration that the server was given
	child  *child
	conn   *nats.Conn // of admin

	refusal error     // why the server did not accept conf
	given   time.Time // when the server was given conf
}

// DefaultListen is an address that only this machine can reach.
const DefaultListen = "127.0.0.1:4222"

// upkeepPace is how often a hub checks whether its ledger has changed.
const upkeepPace = 500 * time.Millisecond

// startTime is how long a server may take to start. It reads its data first.
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
	// The kernel kills the server when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := &running{Hub: h}
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.child.stop()
	if r.conn, err = r.connect(ctx); err != nil {
		return err
	}
	defer r.conn.Close()
	requests, err := requestsTo(r.conn)
	if err != nil {
		return err
	}
	h.Ready(h.Listen)
	return r.keep(ctx, requests)
}

// own takes the folder for this process.
func (f Folder) own() (*lock.Lock, error) {
	wait, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	mine, err := lock.Acquire(wait, f.file(hubLock))
	if held := (lock.BusyError{}); errors.As(err, &held) {
		return nil, core.Invalidf("a hub runs in %s already, as process %d", f.Path, held.PID).WithHint("name another folder with --data, or end that process")
	}
	return mine, err
}

// CheckListen returns an error unless a hub can listen on an address.
func CheckListen(address string) error { return checkAddress(withHost(address)) }

// withHost returns an address with a host instead of none.
func withHost(address string) string {
	if strings.HasPrefix(address, ":") {
		return "0.0.0.0" + address
	}
	return address
}

// freePort returns the address with a free port instead of 0, and a host instead of none.
func freePort(listen string) (string, error) {
	if err := CheckListen(listen); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(withHost(listen))
	if err != nil || port != "0" {
		return withHost(listen), err
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
	for _, i := range []*client.Identity{&r.admin, &r.system} {
		seed, public, err := newKey() // only for this run
		if err != nil {
			return err
		}
		*i = client.Identity{URL: scheme + "://" + reachedHere(r.Listen), Seed: seed, Pin: pin, Inbox: client.InboxOf(public)}
	}
	l, err := r.Folder.edit(ctx, func(l *ledger) error {
		l.Listen, l.Space = r.Listen, cmp.Or(r.Space, l.Space, DefaultSpace)
		l.expire(r.Now())
		return nil
	})
	if err != nil {
		return err
	}
	if free, known := r.Folder.free(); known && free < l.Space {
		r.Say(fmt.Sprintf("the disk of %s has %s free, and each project may use %s (--space): once the disk is full, all projects stop",
			r.Folder.Path, core.Size(free), core.Size(l.Space)))
	}
	if r.conf, err = r.text(l); err != nil {
		return err
	}
	if err := r.Folder.write(confName, []byte(r.conf)); err != nil {
		return err
	}
	r.child, err = startChild(r.Program, r.Folder)
	return err
}

// connect waits for the server to answer.
func (r *running) connect(ctx context.Context) (*nats.Conn, error) {
	deadline := time.Now().Add(startTime)
	for {
		conn, err := r.admin.Dial(ctx, nats.MaxReconnects(-1), nats.ReconnectWait(upkeepPace), func(o *nats.Options) error {
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
			return nil, core.Unavailablef(err, "the server did not answer for %s: %v", core.Span(startTime.Milliseconds()), err).
				WithHint("its log: %s", r.Folder.file(logName))
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

// maxRequests bounds the requests of machines that wait.
const maxRequests = 1000

// requestsTo returns the requests of machines that join and leave.
func requestsTo(conn *nats.Conn) (<-chan *nats.Msg, error) {
	requests := make(chan *nats.Msg, maxRequests)
	for _, subject := range []string{joinSubject, leaveSubject} {
		if _, err := conn.ChanSubscribe(subject+"*", requests); err != nil {
			return nil, err
		}
	}
	return requests, conn.Flush()
}

// answer carries out a request and answers it. The server closes the connection of an invitation
// that was used once it has the new configuration, so the answer has to be sent before that.
func (r *running) answer(ctx context.Context, m *nats.Msg) {
	if strings.HasPrefix(m.Reply, "flame.") {
		return // the answer would be a request in the name of another machine
	}
	said := answer{Version: protocol}
	if err := r.take(ctx, m.Subject, m.Data); err != nil {
		said.Error, said.Hint = err.Error(), core.HintOf(err)
	}
	text, err := json.Marshal(said)
	if err == nil {
		err = errors.Join(m.Respond(text), r.conn.Flush())
	}
	if err != nil {
		r.Say("a machine got no answer: " + err.Error())
	}
}

// take carries out a request. The server vouches for the key in its subject.
func (r *running) take(ctx context.Context, subject string, text []byte) error {
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
	_, err := r.Folder.edit(ctx, func(l *ledger) error {
		if subject == joinSubject+from {
			return l.accept(from, Machine{Key: q.Key, ID: q.Machine, JoinedAt: core.MillisOf(r.Now())})
		}
		l.remove(func(m Machine) bool { return m.Key == from })
		return nil
	})
	return err
}

// keep answers machines and keeps the server up to date with the ledger, until ctx or the
// server ends.
func (r *running) keep(ctx context.Context, requests <-chan *nats.Msg) error {
	tick := time.NewTicker(upkeepPace)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.child.ended:
			return r.child.problem()
		case m := <-requests:
			r.answer(ctx, m)
		case <-tick.C:
		}
		trouble := ""
		if err := r.refresh(ctx); err != nil && ctx.Err() == nil {
			trouble = withHint(err)
		}
		switch {
		case trouble == said:
		case trouble == "":
			r.Say("the server knows all machines again")
		default:
			r.Say("the server continues with the machines that it knows: " + trouble)
		}
		said = trouble
	}
}

// withHint returns the text of an error with its hint.
func withHint(err error) string {
	if hint := core.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

// refusedWait is the time before another attempt with a refused configuration.
const refusedWait = 5 * time.Second

// refresh gives the server a new configuration if the ledger has changed. The error says why
// the server did not accept it.
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
	text, err := r.text(l)
	if err != nil || text == r.conf && (r.refusal == nil || time.Since(r.given) < refusedWait) {
		return errors.Join(err, r.refusal)
	}
	if err := r.Folder.write(confName, []byte(text)); err != nil {
		return err
	}
	r.refusal = r.reload(ctx)
	r.conf, r.given = text, time.Now()
	return r.refusal
}

// reloadTime is how long a server may take to accept or refuse a configuration.
const reloadTime = 20 * time.Second

// reload has the server read its configuration again, and returns an error unless the server
// confirms it. A server that refuses a configuration keeps the previous one.
func (r *running) reload(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, reloadTime)
	defer stop()
	conn, err := r.system.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var said struct {
		Error struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	m, err := conn.RequestWithContext(ctx, fmt.Sprintf(reloadSubject, conn.ConnectedServerId()), nil)
	if err == nil {
		err = json.Unmarshal(m.Data, &said)
	}
	switch why := said.Error.Description; {
	case err != nil:
		return core.Unavailablef(err, "nats-server has not reported whether it accepts the new configuration: %v", err).WithHint(afterRefusal, r.Folder.file(logName))
	case why != "":
		return core.Unavailablef(nil, "nats-server refuses the new configuration: %s", core.OneLine(why, 500)).WithHint(afterRefusal, r.Folder.file(logName))
	}
	return nil
}

// afterRefusal is the hint for a server that continues with its previous configuration.
const afterRefusal = "machines that joined since cannot connect, and those that were removed still can; " +
	"its log, %s, may say more; to restart the server, end `flame hub` and start it again"

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

// Remove removes the machines with this id, or PROJECT/ID, from a hub.
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
