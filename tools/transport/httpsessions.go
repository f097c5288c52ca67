package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// httpSessions holds the connections of one HTTP transport by their ids, which
// are random: whoever knows an id may use it.
type httpSessions struct {
	backend backend
	idleTTL time.Duration
	now     func() time.Time

	mu     sync.Mutex
	byID   map[string]*httpSession
	closed bool
}

// An httpSession is a connection that several HTTP requests share.
type httpSession struct {
	*connection
	id   string
	out  *stream   // of server-sent events; nil for streamable HTTP
	busy int       // number of requests and streams that use it
	used time.Time // when the last of them ended
}

var errClosed = errors.New("the server is shutting down")

func newHTTPSessions(b backend, opts HTTPOptions) *httpSessions {
	return &httpSessions{backend: b, idleTTL: opts.IdleTTL, now: opts.Now, byID: map[string]*httpSession{}}
}

// start returns a new session, in use until it is released.
func (s *httpSessions) start(ctx context.Context) (*httpSession, error) {
	id := rand.Text()
	conn, err := s.backend.connect(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.close(expired())
		return nil, errClosed
	}
	s.dropIdle()
	session := &httpSession{connection: conn, id: id, out: conn.stream(), busy: 1}
	s.byID[id] = session
	return session, nil
}

// use returns the session with this id, in use until it is released, and
// reports whether there is one.
func (s *httpSessions) use(id string) (*httpSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
	session, ok := s.byID[id]
	if ok {
		session.busy++
	}
	return session, ok
}

func (s *httpSessions) release(session *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session.busy--
	session.used = s.now()
}

// end removes the session; its requests in progress may finish until ctx is
// done.
func (s *httpSessions) end(ctx context.Context, session *httpSession) {
	s.mu.Lock()
	delete(s.byID, session.id)
	s.mu.Unlock()
	session.close(ctx)
}

// dropIdle ends the sessions that have been idle for too long. It runs whenever
// a session is requested, so no timer is needed.
func (s *httpSessions) dropIdle() {
	limit := s.now().Add(-s.idleTTL)
	for id, session := range s.byID {
		if session.busy == 0 && session.used.Before(limit) {
			delete(s.byID, id)
			go session.close(expired())
		}
	}
}

// close ends all sessions and accepts no new ones.
func (s *httpSessions) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	all := s.byID
	s.byID = map[string]*httpSession{}
	s.mu.Unlock()
	var ended sync.WaitGroup
	for _, session := range all {
		ended.Go(func() { session.close(ctx) })
	}
	ended.Wait()
}

// expired returns a context that is already done.
func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
