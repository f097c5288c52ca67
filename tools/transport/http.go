package transport

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"flame/core"
	"flame/guard"
)

// HTTPOptions say how to serve over HTTP.
type HTTPOptions struct {
	Guard     *guard.Guard           // who may connect, and the address to listen on; required
	Writes    func(tool string) bool // tools whose calls take effect in order of arrival
	Metrics   http.Handler           // at /metrics; nil: none
	Logger    *slog.Logger           // nil: the default
	IdleTTL   time.Duration          // a session ends after this long without a request or stream; 0: 8 h
	KeepAlive time.Duration          // between two signs of life on a stream; 0: 25 s
	Now       func() time.Time       // nil: time.Now
	Listening func(net.Addr)         // called with the address once requests are accepted; nil: not called
}

const (
	// A session unused for a working day belongs to a client that is gone.
	defaultIdleTTL = 8 * time.Hour
	// Proxies and clients give up on a silent stream after 30 s or more.
	defaultKeepAlive = 25 * time.Second
	// transferTime is how long one message may take to cross the network.
	transferTime = 30 * time.Second
)

// An httpHandler serves streamable HTTP at /mcp and, for clients older than
// 2025, server-sent events at /sse with its /message.
type httpHandler struct {
	guarded http.Handler
	open    []*httpSessions
}

// newHTTPHandler returns the handler for srv.
func newHTTPHandler(srv *server.MCPServer, opts HTTPOptions) *httpHandler {
	opts = opts.withDefaults()
	shared := backend{server: srv, writes: opts.Writes, log: opts.Logger}
	streamable := &streamable{sessions: newHTTPSessions(shared, opts), keepAlive: opts.KeepAlive}
	events := &serverSentEvents{sessions: newHTTPSessions(shared, opts), keepAlive: opts.KeepAlive}
	mux := http.NewServeMux()
	mux.Handle("/mcp", methods{http.MethodPost: streamable.post, http.MethodGet: streamable.get, http.MethodDelete: streamable.delete})
	mux.Handle("/sse", methods{http.MethodGet: events.get})
	mux.Handle("/message", methods{http.MethodPost: events.post})
	if opts.Metrics != nil {
		mux.Handle("/metrics", methods{http.MethodGet: opts.Metrics.ServeHTTP})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is here: MCP clients connect to /mcp (streamable HTTP) or /sse", http.StatusNotFound)
	})
	return &httpHandler{guarded: opts.Guard.Protect(mux), open: []*httpSessions{streamable.sessions, events.sessions}}
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Writes == nil {
		o.Writes = func(string) bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.IdleTTL == 0 {
		o.IdleTTL = defaultIdleTTL
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = defaultKeepAlive
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Listening == nil {
		o.Listening = func(net.Addr) {}
	}
	return o
}

// ServeHTTP serves one request.
func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.guarded.ServeHTTP(w, r)
}

// close ends all sessions and their streams. Requests in progress may finish
// until ctx is done.
func (h *httpHandler) close(ctx context.Context) {
	for _, s := range h.open {
		s.close(ctx)
	}
}

// ServeHTTP listens on the address of the guard and serves srv there until ctx
// is done, when requests in progress get 2 s to finish. It returns nil after
// such an end.
func ServeHTTP(ctx context.Context, srv *server.MCPServer, opts HTTPOptions) error {
	opts = opts.withDefaults()
	handler := newHTTPHandler(srv, opts)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", opts.Guard.Addr())
	if err != nil {
		return core.Unavailablef(err, "cannot listen: %v", err).WithHint("give another address; port 0 picks a free one")
	}
	httpServer := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }()
	opts.Listening(listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	handler.close(patience)
	if err := httpServer.Shutdown(patience); err != nil {
		return httpServer.Close()
	}
	return nil
}

// methods holds the handlers of one path by HTTP method.
type methods map[string]http.HandlerFunc

// ServeHTTP answers 405 to other methods.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handle, ok := m[r.Method]
	if !ok {
		for method := range m {
			w.Header().Add("Allow", method)
		}
		http.Error(w, r.Method+" is not for this path", http.StatusMethodNotAllowed)
		return
	}
	handle(w, r)
}

// readMessage reads the message that r posts. If there is none, it has answered
// and ok is false.
func readMessage(w http.ResponseWriter, r *http.Request) (m message, ok bool) {
	// A form in a web page can post text/plain anywhere without asking.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return m, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(transferTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		writeJSON(w, http.StatusRequestEntityTooLarge, tooLarge())
		return m, false
	case err != nil:
		http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
		return m, false
	}
	m, refusal := parse(body)
	if refusal == nil {
		refusal = checkVersionHeader(m.ID, r)
	}
	if refusal != nil {
		writeJSON(w, http.StatusBadRequest, refusal)
		return m, false
	}
	return m, true
}

// checkVersionHeader refuses a protocol version that flame does not speak.
// Clients older than 2025-06 send none.
func checkVersionHeader(id mcp.RequestId, r *http.Request) *mcp.JSONRPCError {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || mcp.IsValidProtocolVersion(version) {
		return checkVersion(id, version)
	}
	return unsupported(id, version)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
