package worker

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"flame/core"
	"flame/hub"
	"flame/hub/queue"
)

// The time before another attempt to connect, which doubles each time.
const (
	shortestWait = 250 * time.Millisecond
	longestWait  = 5 * time.Second
)

// A line is a connection to the queues of a project's hub that is made again when it is
// lost. Several goroutines may use it.
type line struct {
	Data string
	Told func(error) // is told once that there is no connection, and why, and once that there is one again; nil: nobody is

	mu   sync.Mutex
	conn *hub.Conn
	q    *queue.Queue
	away bool // as Told was told
}

// queue returns the queues, by the connection that there is, or a new one.
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
	link, err := Asker{Data: l.Data}.link()
	if err != nil {
		return err
	}
	conn, err := hub.Connect(ctx, link)
	if err != nil {
		return err
	}
	q, err := queue.Open(ctx, conn)
	if err != nil {
		conn.Close()
		return err
	}
	if l.q != nil {
		q.Succeed(l.q)
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

// lasting calls f until it succeeds, fails for good, or ctx ends: what only wants a
// connection is tried again with the next one.
func (l *line) lasting(ctx context.Context, f func(*queue.Queue) error) error {
	for wait := shortestWait; ; wait = min(2*wait, longestWait) {
		q, err := l.queue(ctx)
		if err == nil {
			began := time.Now()
			if err = f(q); err == nil {
				return nil
			}
			if time.Since(began) > longestWait {
				wait = shortestWait
			}
		}
		if ctx.Err() != nil || !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait/2 + mathrand.N(wait)): // not all at once
		}
	}
}

// A worker says every tellTime that it is there, and looks every lookTime whether that is to
// be told sooner.
const (
	tellTime = time.Minute
	lookTime = time.Second
)

// sayTime is how long a worker tries to say so once.
const sayTime = 3 * time.Second

// present says on the hub what a worker serves, until it is over, and then that it has
// ended. What is not told is told again; nothing waits for it.
func (l *line) present(ctx context.Context, over <-chan struct{}, serves func() hub.Served) {
	run, told, at := rand.Text(), hub.Served{}, time.Time{}
	tell := func(s hub.Served) error {
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
			look.Reset(longestWait)
			if err := tell(s); err == nil {
				told, at = s, time.Now()
				look.Reset(lookTime)
			}
		}
		select {
		case <-over:
			_ = tell(hub.Served{}) // else others believe so in some minutes
			return
		case <-look.C:
		}
	}
}
