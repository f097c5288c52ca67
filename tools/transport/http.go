package transport

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"flame/core"
	"flame/local/guard"
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
	// The client of a session that was unused for a working day has gone.
	defaultIdleTTL = 8 * time.Hour
	// Proxies and clients give up on a silent stream after 30 s or more.
	defaultKeepAlive = 25 * time.Second
)

// newHTTPHandler returns the handler for srv.
func newHTTPHandler(srv *server.MCPServer, opts HTTPOptions) *httpHandler {
	opts = opts.withDefaults()
	shared := backend{server: srv, writes: opts.Writes, log: opts.Logger}
	sessions := &httpSessions{backend: shared, idleTTL: opts.IdleTTL, now: opts.Now, byID: map[string]*httpSession{}}
	h := &httpHandler{sessions: sessions, keepAlive: opts.KeepAlive}
	mux := http.NewServeMux()
	mux.Handle("/mcp", methods{http.MethodPost: h.post, http.MethodGet: h.get, http.MethodDelete: h.delete})
	mux.Handle("/sse", methods{http.MethodGet: h.getSSE})
	mux.Handle("/message", methods{http.MethodPost: h.postSSE})
	if opts.Metrics != nil {
		mux.Handle("/metrics", methods{http.MethodGet: opts.Metrics.ServeHTTP})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is here: MCP clients connect to /mcp (streamable HTTP) or /sse", http.StatusNotFound)
	})
	h.guarded = opts.Guard.Protect(mux)
	return h
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.Writes == nil {
		o.Writes = func(string) bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.IdleTTL, o.KeepAlive = cmp.Or(o.IdleTTL, defaultIdleTTL), cmp.Or(o.KeepAlive, defaultKeepAlive)
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
	opts.Listening(listener.Addr())
	return guard.Serve(ctx, listener, httpServer, grace, handler.sessions.close)
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
