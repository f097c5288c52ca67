// Package transport carries MCP's messages between clients and the server: on
// standard input and output, over streamable HTTP and as server-sent events. It
// keeps the order of calls that change state, and the sessions of clients.
//
// The transports are flame's own, on top of mcp-go's HandleMessage. Those of
// mcp-go 1.2.1 lack what hosts rely on (seen in a trial behind flame's guard):
// one channel takes all notifications of an HTTP session, so that those of a
// call go astray when a stream is open or calls overlap, and over server-sent
// events arrive after the result; over server-sent events users cannot be asked
// at all; sessions of either kind keep no subscriptions, a GET begins one under
// any id, calls outlive the end of their session, and a question is not
// withdrawn with its call. The pool of stdio lets neighbouring calls overtake
// each other and drops answers at the end of input.
package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxInFlight is how many requests of one connection may be in progress at
// once. Each costs a goroutine and its message; no host comes near it.
const maxInFlight = 1024

// A backend is shared by all transports: the server that answers, which tools
// change state, where faults are logged, and the tool of hooks.
type backend struct {
	server *server.MCPServer
	writes func(tool string) bool
	log    *slog.Logger
	aside  HiddenTool
}

// A connection is one client: its session with the server, the order of its
// writes, its requests in progress and the questions it was asked.
type connection struct {
	backend
	session   session
	questions *serverRequests
	order     order

	ctx    context.Context // of all its requests, cancelled when it is closed
	cancel context.CancelFunc

	mu       sync.Mutex // guards closed and the first Add to work
	closed   bool
	inFlight int
	running  map[string]context.CancelFunc // requests, by their ids as they came
	work     sync.WaitGroup
}

// connect begins a connection whose session has the given id, by which tools
// also know the caller. Requests keep ctx's values, but not its end.
func (c backend) connect(ctx context.Context, id string) (*connection, error) {
	questions := &serverRequests{waiting: map[int64]chan message{}}
	base := server.NewInProcessSessionWithHandlers(id, nil, questions, nil)
	conn := &connection{backend: c, questions: questions, session: session{InProcessSession: base, subscriptions: &subscriptions{uris: map[string]string{}}}}
	conn.running = map[string]context.CancelFunc{}
	conn.ctx, conn.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.server.RegisterSession(conn.ctx, conn.session); err != nil {
		conn.cancel()
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return conn, nil
}

// accept accepts a message in the order of arrival, without waiting. If answered is true, the
// answer will be the last output sent to out. For a request that it cannot accept, it returns
// the error to answer with.
func (c *connection) accept(m message, out *stream) (answered bool, refusal *mcp.JSONRPCError) {
	switch {
	case m.isAnswer():
		c.questions.resolve(m)
		return false, nil
	case m.ID.IsNil():
		if m.Method == string(mcp.MethodNotificationCancelled) {
			c.drop(string(m.Params.RequestID))
		}
		c.answer(c.server.WithContext(c.ctx, c.session), m)
		return false, nil
	}
	if refusal := c.begin(m.ID); refusal != nil {
		return false, refusal
	}
	ctx, over := c.run(string(m.RawID))
	ctx = context.WithValue(ctx, streamKey{}, out)
	ctx = c.server.WithContext(ctx, c.session.telling(out))
	slot := c.slot(m)
	ctx = context.WithValue(ctx, slotKey{}, slot)
	go func() {
		defer c.done()
		defer over()
		defer slot.end()
		out.send(output{c.answer(ctx, m), true})
	}()
	return true, nil
}

// run returns the context of a request, and a function for its end. The server itself knows a request
// only once its handler has begun, and would lose a cancellation that comes before.
func (c *connection) run(id string) (ctx context.Context, over func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[id] = cancel
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, id)
		cancel()
	}
}

// drop cancels a request.
func (c *connection) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[id]; cancel != nil {
		cancel()
	}
}

// slot returns the place of a request in the order.
func (c *connection) slot(m message) *slot {
	if c.aside.takes(m) {
		return &slot{end: func() {}}
	}
	tool := m.tool()
	return c.order.take(tool != "" && c.writes(tool))
}

// answer lets the server handle m and returns its encoded answer, or nil for a notification.
// It recovers a handler's panic: the client gets an error, the log gets the stack, and the
// connection continues.
func (c *connection) answer(ctx context.Context, m message) (text []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic in a handler", "method", m.Method, "tool", m.tool(), "panic", p, "stack", string(debug.Stack()))
			text = encode(fault(m.ID, mcp.INTERNAL_ERROR, "internal error: see flame's log"))
		}
	}()
	if c.aside.takes(m) {
		return c.aside.answer(ctx, m)
	}
	switch response := c.server.HandleMessage(ctx, m.raw).(type) {
	case nil:
		return nil
	case mcp.JSONRPCResponse:
		response.ID = m.ID
		return encode(response)
	case mcp.JSONRPCError:
		response.ID = m.ID
		return encode(response)
	default:
		return encode(response)
	}
}

// encode returns m as JSON. It panics if that fails: results consist of types
// that can be encoded.
func encode(m any) []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return text
}

// begin counts a request as in progress, or returns the error to answer with.
func (c *connection) begin(id mcp.RequestId) *mcp.JSONRPCError {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fault(id, mcp.INTERNAL_ERROR, "the session has ended")
	case c.inFlight >= maxInFlight:
		return fault(id, mcp.INTERNAL_ERROR, fmt.Sprintf("%d requests are in progress: wait for answers first", maxInFlight))
	}
	c.inFlight++
	c.work.Add(1)
	return nil
}

// refuse answers on out a message that is not a request or cannot be accepted.
func (c *connection) refuse(refusal *mcp.JSONRPCError, out *stream) {
	c.work.Go(func() { out.send(output{text: encode(refusal)}) })
}

func (c *connection) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	c.work.Done()
}

const (
	// grace is how long requests in progress may take after the end was
	// requested: longer than any transaction, shorter than hosts wait before
	// SIGKILL.
	grace = 2 * time.Second

	// obedience is how long a cancelled request may take to stop.
	obedience = 200 * time.Millisecond
)

// close ends the connection and its session; requests in progress may finish
// until patience is done.
func (c *connection) close(patience context.Context) {
	c.stop(patience)
	c.server.UnregisterSession(context.WithoutCancel(c.ctx), c.session.SessionID())
}

// stop accepts no more requests, lets those in progress finish until patience is done, and
// cancels the rest.
func (c *connection) stop(patience context.Context) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.questions.close()
	idle := make(chan struct{})
	go func() {
		c.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-patience.Done():
	}
	c.cancel()
	select { // cancelled requests may still write, and the session must not end before that
	case <-idle:
	case <-time.After(obedience):
	}
}
