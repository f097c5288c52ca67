package transport

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// turns is the order in which the calls of one connection take effect: a call
// that changes state comes after all such calls that arrived before it, and so
// does one that reads, which therefore sees what they did. Handlers run
// concurrently, and whatever lies between a call's arrival and its handler may
// overtake, so each call gets a turn when it arrives and waits for it where its
// handler begins.
type turns struct {
	mu   sync.Mutex
	last <-chan struct{} // closed when the newest turn and all before it are over
}

// A turn is one call's place in the order. Whoever takes one ends it on every
// path, or the calls behind it wait forever.
type turn struct {
	before <-chan struct{}
	over   chan struct{} // nil for a call that only reads
	end    func()
}

// take returns the next turn to a call that changes state.
func (t *turns) take() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := &turn{before: t.newest(), over: make(chan struct{})}
	next.end = sync.OnceFunc(next.finish)
	t.last = next.over
	return next
}

// follow returns a turn to a call that only reads: it waits like the others and
// holds up none.
func (t *turns) follow() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &turn{before: t.newest(), end: func() {}}
}

func (t *turns) newest() <-chan struct{} {
	if t.last == nil {
		none := make(chan struct{})
		close(none)
		t.last = none
	}
	return t.last
}

// wait returns when every earlier turn is over, or with ctx's error.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.before:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// finish lets the next turn begin, though not before the earlier ones are over
// too: a call that gave up waiting must not let those behind it overtake.
func (t *turn) finish() {
	select {
	case <-t.before:
		close(t.over)
	default:
		go func() {
			<-t.before
			close(t.over)
		}()
	}
}

type turnKey struct{}

// InOrder is the middleware that makes a tool's handler wait for its call's
// turn, where the transport gave it one. A call that is cancelled while it
// waits changes nothing.
func InOrder(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t, ok := ctx.Value(turnKey{}).(*turn)
		if !ok {
			return next(ctx, request)
		}
		defer t.end()
		if err := t.wait(ctx); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// LeaveOrder lets the calls behind this one begin: what it waits for now is nothing
// that they could overtake.
func LeaveOrder(ctx context.Context) {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok {
		t.end()
	}
}
