package transport

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// serverSentEvents is the HTTP transport of protocol version 2024-11-05: one
// event stream for all answers, and a path to post messages to, which the
// stream's first event names. The session ends with the stream.
type serverSentEvents struct {
	sessions  *httpSessions
	keepAlive time.Duration
}

// get opens the stream and begins its session.
func (t *serverSentEvents) get(w http.ResponseWriter, r *http.Request) {
	session, err := t.sessions.start(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), grace)
		defer cancel()
		t.sessions.end(patience, session)
	}()
	events := startEvents(w)
	if err := events.write(fmt.Sprintf("event: endpoint\ndata: /message?sessionId=%s\n\n", session.id)); err != nil {
		return
	}
	events.serve(r.Context(), session, session.out, t.keepAlive)
}

// post takes one message and answers on the stream.
func (t *serverSentEvents) post(w http.ResponseWriter, r *http.Request) {
	session, ok := t.sessions.use(r.URL.Query().Get("sessionId"))
	if !ok {
		http.Error(w, "there is no such session: open /sse and post to the path that its first event names", http.StatusNotFound)
		return
	}
	defer t.sessions.release(session)
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
