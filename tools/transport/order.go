package transport

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// An order decides when the calls of one connection take effect: each call, whether it writes
// or only reads, waits for all earlier calls that change state, and so sees their changes.
// Handlers run concurrently, and anything between a call's arrival and its handler may
// overtake, so each call gets a slot when it arrives and waits for it where its handler
// begins.
type order struct {
	mu   sync.Mutex
	last <-chan struct{} // closed when the newest slot and all before it are over; nil: there was none
}

// A slot is one call's place in the order. It must be ended on every path, or
// the calls behind it wait forever.
type slot struct {
	before <-chan struct{} // nil: nothing
	end    func()
}

// take returns the next slot. A call that only reads waits like the others but blocks
// none.
func (o *order) take(writes bool) *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &slot{before: o.last, end: func() {}}
	if writes {
		over := make(chan struct{})
		o.last = over
		// A call that stopped waiting must not let those behind it overtake.
		s.end = sync.OnceFunc(func() {
			go func() {
				_ = s.wait(context.Background()) // it never ends
				close(over)
			}()
		})
	}
	return s
}

// wait returns when every earlier slot is over, or with ctx's error.
func (s *slot) wait(ctx context.Context) error {
	if s.before != nil {
		select {
		case <-s.before:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
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

// LeaveOrder lets the calls after this one begin, before this call waits for something that they
// cannot overtake.
func LeaveOrder(ctx context.Context) {
	if s, ok := ctx.Value(slotKey{}).(*slot); ok {
		s.end()
	}
}
