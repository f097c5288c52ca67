package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"flame/core"
	"flame/hub"
	"flame/hub/queue"
)

// A line is a connection to the queues of a project's hub. When the connection is lost, the
// line makes another. Several goroutines may use it.
type line struct {
	Data string
	Told func(error) // called once with the error when the connection is lost, and once with nil when it is back; may be nil

	mu   sync.Mutex
	conn *hub.Conn
	q    *queue.Queue
	away bool // the last state that Told was called with
}

// queue returns the queues of the open connection, or of a new one.
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
	link, err := Requester{Data: l.Data}.link()
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
		q.ResumeFrom(l.q)
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

// lasting calls f until it succeeds, fails for good, or ctx ends. If the connection was lost, it
// retries with the next one.
func (l *line) lasting(ctx context.Context, f func(*queue.Queue) error) (err error) {
	hub.Retry(ctx, func() (over bool) {
		var q *queue.Queue
		if q, err = l.queue(ctx); err == nil {
			err = f(q)
		}
		return !errors.Is(err, core.ErrUnavailable)
	})
	return err
}

// A worker announces itself every tellTime, and checks every lookTime whether its announcement
// has changed.
const (
	tellTime = time.Minute
	lookTime = time.Second
)

// sayTime bounds one announcement.
const sayTime = 3 * time.Second

// present announces on the hub what a worker serves, until it is over, and then that it has
// ended. It retries failed announcements; nothing waits for them.
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
			look.Reset(hub.LongestPause)
			if err := tell(s); err == nil {
				told, at = s, time.Now()
				look.Reset(lookTime)
			}
		}
		select {
		case <-over:
			_ = tell(hub.Served{}) // otherwise the announcement expires in some minutes
			return
		case <-look.C:
		}
	}
}
