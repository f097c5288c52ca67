package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// ErrClientGone is the error for a question whose client can no longer answer.
var ErrClientGone = errors.New("the client has disconnected")

// serverRequests are the server's own requests to one client that wait for its answer. They travel on the stream of the request that made
// them and belong to it: when it is cancelled, so are they.
type serverRequests struct {
	mu      sync.Mutex
	lastID  int64
	waiting map[int64]chan message // nil when no more answers can come
}

type streamKey struct{}

// Elicit asks the user, through the client, and waits for the answer. The calls after this one do
// not wait for a person: it leaves the order first.
func (q *serverRequests) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	out, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return nil, errors.New("users can only be asked within a request of their client")
	}
	LeaveOrder(ctx)
	m, err := q.request(ctx, out, mcp.MethodElicitationCreate, request.Params)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("the client answered: %s", m.Error.Message)
	}
	if err != nil {
		return nil, err
	}
	result := new(mcp.ElicitationResult)
	return result, json.Unmarshal(m.Result, result)
}

// request sends a request to the client, and returns its answer, which may be an error of the client's.
func (q *serverRequests) request(ctx context.Context, out *stream, method mcp.MCPMethod, params any) (message, error) {
	id, answer := q.open()
	defer q.forget(id)
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Params: params, Request: mcp.Request{Method: string(method)},
	})
	if err != nil {
		return message{}, err
	}
	if answer == nil || !out.send(output{text: text}) {
		return message{}, ErrClientGone
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return m, ErrClientGone
		}
		return m, nil
	case <-ctx.Done():
		out.send(output{text: cancelled(id)})
		return message{}, ctx.Err()
	}
}

// open returns an id for a new request and the channel for its answer.
func (q *serverRequests) open() (int64, chan message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		return 0, nil
	}
	q.lastID++
	answer := make(chan message, 1)
	q.waiting[q.lastID] = answer
	return q.lastID, answer
}

func (q *serverRequests) forget(id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// resolve delivers the client's answer to the question that waits for it. Answers without a
// waiting question, such as late ones, are normal.
func (q *serverRequests) resolve(m message) {
	id, ok := m.ID.Value().(int64)
	if !ok {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if answer, ok := q.waiting[id]; ok {
		delete(q.waiting, id)
		answer <- m
	}
}

// close tells all waiting questions that no answer will come.
func (q *serverRequests) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, answer := range q.waiting {
		close(answer)
	}
	q.waiting = nil
}

// cancelled returns the message that withdraws a request to the client.
func cancelled(id int64) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}
