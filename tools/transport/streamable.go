package transport

import (
	"context"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// This is the streamable HTTP transport of protocol version 2025-11-25, with sessions:
// initialize begins one, every other request names it. A POST is answered with JSON, or with
// an event stream if anything is sent before the answer. Streams cannot be resumed; a call
// whose client leaves continues.

const sessionHeader = "Mcp-Session-Id"

// post takes one message.
func (h *httpHandler) post(w http.ResponseWriter, r *http.Request) {
	m, ok := readMessage(w, r)
	if !ok {
		return
	}
	session, ok := h.sessionFor(m, w, r)
	if !ok {
		return
	}
	defer h.sessions.release(session)
	out := session.reply()
	answered, refusal := session.accept(m, out)
	switch {
	case refusal != nil:
		writeJSON(w, http.StatusServiceUnavailable, refusal)
	case !answered:
		w.WriteHeader(http.StatusAccepted)
	default:
		(&postResponse{w: w}).serve(r.Context(), session, out)
	}
}

// sessionFor returns the session that m begins or belongs to, in use.
func (h *httpHandler) sessionFor(m message, w http.ResponseWriter, r *http.Request) (*httpSession, bool) {
	if m.Method != string(mcp.MethodInitialize) || m.ID.IsNil() {
		return h.named(w, r)
	}
	session, err := h.sessions.start(r.Context(), false)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return nil, false
	}
	w.Header().Set(sessionHeader, session.id)
	return session, true
}

// named returns the session that r names, in use. Clients begin a new one on
// 404.
func (h *httpHandler) named(w http.ResponseWriter, r *http.Request) (*httpSession, bool) {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		http.Error(w, "the header "+sessionHeader+" is missing: send initialize first, then the id from its answer", http.StatusBadRequest)
		return nil, false
	}
	session, ok := h.sessions.use(id, false)
	if !ok {
		http.Error(w, "there is no such session: send initialize to begin one", http.StatusNotFound)
	}
	return session, ok
}

// get opens the stream for messages that belong to no request.
func (h *httpHandler) get(w http.ResponseWriter, r *http.Request) {
	session, ok := h.named(w, r)
	if !ok {
		return
	}
	defer h.sessions.release(session)
	events := startEvents(w)
	if err := events.write(": hello\n\n"); err != nil {
		return
	}
	events.serve(r.Context(), session, session.stream(), h.keepAlive)
}

// delete ends the session.
func (h *httpHandler) delete(w http.ResponseWriter, r *http.Request) {
	session, ok := h.named(w, r)
	if !ok {
		return
	}
	defer h.sessions.release(session)
	patience, cancel := context.WithTimeout(r.Context(), grace)
	defer cancel()
	h.sessions.end(patience, session)
	w.WriteHeader(http.StatusNoContent)
}

// postResponse is the response to a POST: JSON if the answer comes first, else
// events.
type postResponse struct {
	w      http.ResponseWriter
	events *eventStream // nil until the response becomes a stream
	begun  bool
}

// serve writes the output until it has the answer, the client leaves or
// the session ends.
func (p *postResponse) serve(ctx context.Context, session *httpSession, out *stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.ctx, cancel)()
	_ = out.pump(ctx, true, p.write) // its client is gone
	if !p.begun {
		http.Error(p.w, "the session ended before the answer", http.StatusServiceUnavailable)
	}
}

func (p *postResponse) write(o output) error {
	p.begun = true
	switch {
	case p.events != nil:
		return p.events.message(o)
	case o.last:
		p.w.Header().Set("Content-Type", "application/json")
		p.w.Header().Set("Content-Length", strconv.Itoa(len(o.text)))
		return writeNow(p.w, o.text)
	default:
		p.events = startEvents(p.w)
		return p.events.message(o)
	}
}
