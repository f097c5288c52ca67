package transport

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"flame/project"
)

// getSSE opens the event stream of protocol version 2024-11-05: one stream for all answers,
// whose first event names the path to post messages to. Its session ends with it.
func (h *httpHandler) getSSE(w http.ResponseWriter, r *http.Request) {
	session, err := h.sessions.start(r.Context(), true)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), grace)
		defer cancel()
		h.sessions.end(patience, session)
	}()
	events := startEvents(w)
	if err := events.write(fmt.Sprintf("event: endpoint\ndata: /message?sessionId=%s\n\n", session.id)); err != nil {
		return
	}
	events.serve(r.Context(), session, session.out, h.keepAlive)
}

// postSSE takes one message and answers on the stream.
func (h *httpHandler) postSSE(w http.ResponseWriter, r *http.Request) {
	session, ok := h.sessions.use(r.URL.Query().Get("sessionId"), true)
	if !ok {
		http.Error(w, "there is no such session: open /sse and post to the path that its first event names", http.StatusNotFound)
		return
	}
	defer h.sessions.release(session)
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	if _, refusal := session.accept(m, session.out); refusal != nil {
		writeJSON(w, http.StatusServiceUnavailable, refusal)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// An eventStream writes server-sent events. It is safe for concurrent use.
type eventStream struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

// startEvents makes the response to a request an event stream.
func startEvents(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &eventStream{w: w}
}

// message writes one message of the protocol.
func (e *eventStream) message(o output) error {
	return e.write("event: message\ndata: " + string(o.text) + "\n\n")
}

func (e *eventStream) write(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return writeNow(e.w, []byte(text))
}

// writeNow writes and flushes. It gives up on a client that does not read, since others may
// wait for this write, and then clears the deadline, because the connection outlives the
// response.
func writeNow(w http.ResponseWriter, text []byte) error {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(transferTime))
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}

// serve pumps out until the client leaves or the session ends, with a comment
// as a sign of life each interval.
func (e *eventStream) serve(ctx context.Context, session *httpSession, out *stream, interval time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(session.ctx, cancel)()
	var alive sync.WaitGroup
	alive.Go(func() {
		for range project.Every(ctx, interval, interval) {
			_ = e.write(": alive\n\n") // pump meets the same error and ends
		}
	})
	_ = out.pump(ctx, false, e.message) // its client is gone
	cancel()
	alive.Wait() // the response must not be written to after its handler returns
}
