package transport

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// An order decides when the calls of one connection take effect: a call waits
// for all calls before it that change state, whether it changes state itself or
// only reads, and so sees what they did. Handlers run concurrently, and
// anything between a call's arrival and its handler may overtake, so each call
// gets a slot when it arrives and waits for it where its handler begins.
type order struct {
	mu   sync.Mutex
	last <-chan struct{} // closed when the newest slot and all before it are over
}

// A slot is one call's place in the order. It must be ended on every path, or
// the calls behind it wait forever.
type slot struct {
	before <-chan struct{}
	over   chan struct{} // nil for a call that only reads
	end    func()
}

// take returns the next slot to a call that changes state.
func (o *order) take() *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := &slot{before: o.newest(), over: make(chan struct{})}
	next.end = sync.OnceFunc(next.finish)
	o.last = next.over
	return next
}

// follow returns a slot to a call that only reads: it waits like the others but
// blocks none.
func (o *order) follow() *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &slot{before: o.newest(), end: func() {}}
}

func (o *order) newest() <-chan struct{} {
	if o.last == nil {
		none := make(chan struct{})
		close(none)
		o.last = none
	}
	return o.last
}

// wait returns when every earlier slot is over, or with ctx's error.
func (s *slot) wait(ctx context.Context) error {
	select {
	case <-s.before:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// finish lets the next slot begin, but not before the earlier ones are over
// too: a call that stopped waiting must not let those behind it overtake.
func (s *slot) finish() {
	select {
	case <-s.before:
		close(s.over)
	default:
		go func() {
			<-s.before
			close(s.over)
		}()
	}
}

type slotKey struct{}

// InOrder returns a handler that waits for its call's slot, if the transport
// gave it one, before it calls next. A call that is cancelled while it waits
// changes nothing.
func InOrder(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s, ok := ctx.Value(slotKey{}).(*slot)
		if !ok {
			return next(ctx, request)
		}
		defer s.end()
		if err := s.wait(ctx); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// LeaveOrder lets the calls behind this one begin: they cannot overtake what it
// waits for from now on.
func LeaveOrder(ctx context.Context) {
	if s, ok := ctx.Value(slotKey{}).(*slot); ok {
		s.end()
	}
}
