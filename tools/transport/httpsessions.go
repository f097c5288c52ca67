package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"
)

// An httpHandler serves streamable HTTP at /mcp and, for clients older than
// 2025, server-sent events at /sse with its /message.
type httpHandler struct {
	guarded   http.Handler
	sessions  *httpSessions
	keepAlive time.Duration
}

// httpSessions holds the connections of both HTTP transports by their ids, which are
// random: to know an id is to be allowed to use it. Flame's tools name a connection to others, so
// its session has an id of its own.
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

// start returns a new session, with a stream for server-sent events if sse is set. It is in
// use until it is released.
func (s *httpSessions) start(ctx context.Context, sse bool) (*httpSession, error) {
	id := rand.Text()
	conn, err := s.backend.connect(ctx, rand.Text())
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
	session := &httpSession{connection: conn, id: id, busy: 1}
	if sse {
		session.out = conn.stream()
	}
	s.byID[id] = session
	return session, nil
}

// use returns the session with this id of one transport, in use until it is released, and
// reports whether there is one.
func (s *httpSessions) use(id string, sse bool) (*httpSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
	session := s.byID[id]
	if session == nil || (session.out != nil) != sse {
		return nil, false
	}
	session.busy++
	return session, true
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
