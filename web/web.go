// Package web serves a page that shows a project live and offers a person some of the commands.
// It shows a board, and calls operations of stack and agents. All data needs a token; the page's
// own files do not.
package web

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flame/core"
	"flame/local/guard"
	"flame/render/board"
)

// files has the page for the server and for reports.
//
//go:embed page
var files embed.FS

// A server answers requests of pages.
type server struct {
	Options
	addr string // as clients of this machine name it: host:port

	open *projects
	life context.Context // of the server

	streams atomic.Int64

	mu      sync.Mutex
	conns   int
	waiting []net.Conn // those that have sent nothing yet, the oldest first
}

// grace is the time that requests in progress get at the end.
const grace = 2 * time.Second

// Serve serves the page on a listener with the guard's address until ctx is done.
func Serve(ctx context.Context, listener net.Listener, opts Options) (err error) {
	life, stop := context.WithCancel(ctx)
	s := &server{Options: opts, addr: listener.Addr().String(), life: life, open: &projects{Options: opts, life: life, shown: map[string]*openProject{}}}
	srv := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ConnState: s.count, ErrorLog: slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	// A browser repeats a request when a connection that it uses again ends before the answer, on a
	// new one: should this server die, another program that takes its port would get the token.
	srv.SetKeepAlivesEnabled(false)
	err = guard.Serve(ctx, listener, srv, grace, func(context.Context) { stop() })
	return errors.Join(err, s.open.close())
}

// The limits of a server: each connection takes a file descriptor, of which a process has about a
// thousand, and each stream takes work with every change.
const (
	maxConns   = 500
	maxStreams = 50
)

// count counts the connections. Above the limit, it closes the one that has sent nothing for longest:
// any user of the machine can connect, but only a request with the token keeps a connection.
func (s *server) count(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.waiting = append(s.waiting, conn)
		if s.conns++; s.conns > maxConns {
			_ = s.waiting[0].Close()
			s.waiting = s.waiting[1:]
		}
		return
	case http.StateClosed, http.StateHijacked:
		s.conns--
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(waits net.Conn) bool { return waits == conn })
}

// policy allows the page its own scripts and styles, and requests to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler returns the handler of all requests.
func (s *server) handler() http.Handler {
	data := http.NewServeMux()
	data.HandleFunc("GET /api/projects", answer(s.projects))
	data.HandleFunc("GET /api/{project}/live", s.live)
	for path, read := range reads {
		data.HandleFunc("GET /api/{project}/"+path, answer(s.reads(read)))
	}
	cross := http.NewCrossOriginProtection()
	for path, act := range acts {
		data.Handle("POST /api/{project}/"+path, cross.Handler(answer(s.does(act))))
	}
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // the folder above is embedded
	}
	open := http.NewServeMux()
	open.HandleFunc("GET /hello", s.hello)
	open.Handle("GET /", http.FileServerFS(page))
	open.HandleFunc("GET /start.json", s.start)
	all := http.NewServeMux()
	all.Handle("/api/", s.Guard.Protect(data))
	all.Handle("/", s.Guard.CheckOrigin(open))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		all.ServeHTTP(w, r)
	})
}

// headers are those of every answer.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cache-Control":                "no-store",
}

// start returns the values that the page needs before it has a token.
func (s *server) start(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"project": s.Project, "version": s.Version})
}

// hello proves that this is still the same server. A flame on this machine asks for the proof, and
// a page does before it sends its token again. Both know the secret.
func (s *server) hello(w http.ResponseWriter, r *http.Request) {
	challenge := r.URL.Query().Get("challenge")
	if len(challenge) < challengeSize || len(challenge) > 4*challengeSize || strings.ContainsFunc(challenge, func(c rune) bool { return c > '~' }) {
		http.Error(w, "no challenge", http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"proof": guard.Proof(s.Secret, s.addr, challenge)})
}

// feedOf returns the feed of the project that a request names. It stays open until the caller
// calls leave.
func (s *server) feedOf(r *http.Request) (f *board.Feed, leave func(), err error) {
	return s.open.feed(r.Context(), r.PathValue("project"))
}

// reads returns the handler of a query about a project.
func (s *server) reads(read func(q query) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		f, leave, err := s.feedOf(r)
		if err != nil {
			return nil, err
		}
		defer leave()
		return read(query{Request: r, agents: f.Agents()})
	}
}

// does returns the handler of an action on a project.
func (s *server) does(act act) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		a, err := actionOf(r)
		if err != nil {
			return nil, err
		}
		for what, value := range act.needs(a) {
			if strings.TrimSpace(value) == "" {
				return nil, core.Invalidf("the %s is missing", what)
			}
		}
		f, leave, err := s.feedOf(r)
		if err != nil {
			return nil, err
		}
		defer leave()
		said, err := act.do(query{Request: r, agents: f.Agents()}, a)
		return map[string]string{"said": strings.TrimSpace(said)}, err
	}
}

// live streams a project to a page.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		refuse(w, core.Unavailablef(nil, "%d pages show projects live, and this server serves no more", maxStreams).WithHint("close some of the pages"))
		return
	}
	f, leave, err := s.feedOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	defer leave()
	s.stream(w, r, f)
}

func (s *server) projects(r *http.Request) (any, error) {
	all, err := s.Projects(r.Context())
	return map[string]any{"own": s.Project, "projects": append([]ProjectInfo{}, all...)}, err
}
