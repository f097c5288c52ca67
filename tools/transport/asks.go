package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// errClientGone: the client was asked something and can answer no more.
var errClientGone = errors.New("the client is gone")

// asks are the server's own requests to one client (elicitation, roots) that
// wait for its answer. They travel on the stream of the request that made
// them, and belong to it: when it is cancelled, so are they.
type asks struct {
	mu      sync.Mutex
	lastID  int64
	waiting map[int64]chan message // nil when no answer can come any more
}

type streamKey struct{}

func newAsks() *asks { return &asks{waiting: map[int64]chan message{}} }

// Elicit asks the user, through the client, and waits for the answer.
func (a *asks) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := new(mcp.ElicitationResult)
	return result, a.ask(ctx, mcp.MethodElicitationCreate, request.Params, result)
}

// ListRoots asks the client for the folders it works in.
func (a *asks) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	result := new(mcp.ListRootsResult)
	return result, a.ask(ctx, mcp.MethodListRoots, nil, result)
}

func (a *asks) ask(ctx context.Context, method mcp.MCPMethod, params, result any) error {
	out, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return fmt.Errorf("%s: not within a request of a client", method)
	}
	id, answer := a.open()
	defer a.forget(id)
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      mcp.NewRequestId(id),
		Params:  params,
		Request: mcp.Request{Method: string(method)},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer == nil || !out.send(letter{text: text}) {
		return fmt.Errorf("%s: %w", method, errClientGone)
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return fmt.Errorf("%s: %w", method, errClientGone)
		}
		if m.Error != nil {
			return fmt.Errorf("%s: the client answered: %s", method, m.Error.Message)
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		out.send(letter{text: cancelled(id)})
		return ctx.Err()
	}
}

// open returns an id for a new request and where its answer will come.
func (a *asks) open() (int64, chan message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return 0, nil
	}
	a.lastID++
	answer := make(chan message, 1)
	a.waiting[a.lastID] = answer
	return a.lastID, answer
}

func (a *asks) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// resolve returns the client's answer to the one who waits for it. Answers that
// nobody waits for, such as late ones, are normal.
func (a *asks) resolve(m message) {
	id, ok := m.ID.Value().(int64)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer, ok := a.waiting[id]; ok {
		delete(a.waiting, id)
		answer <- m
	}
}

// close lets all who wait know that no answer will come.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, answer := range a.waiting {
		close(answer)
	}
	a.waiting = nil
}

// cancelled takes a request to the client back.
func cancelled(id int64) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}
