// Package web is the browser's door: a page that shows a project live, and lets a person
// do some of what the command line can. What it shows is a board; what it does are
// operations of stack and agents. The page's own files need no token, all data does.
package web

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"flame/core"
	"flame/guard"
)

// files is the page as it is served and put into reports.
//
//go:embed page
var files embed.FS

// A server answers requests of pages.
type server struct {
	Options
	addr string // as clients of this machine name it: host:port

	open *projects
	life context.Context // of the server

	conns, streams atomic.Int64
}

// The time that requests in progress get at the end.
const grace = 2 * time.Second

// Serve serves the page on a listener, whose address is that of the guard, until ctx is
// done.
func Serve(ctx context.Context, listener net.Listener, opts Options) (err error) {
	life, stop := context.WithCancel(ctx)
	s := &server{Options: opts, addr: listener.Addr().String(), life: life, open: &projects{Options: opts, life: life, shown: map[string]*shown{}}}
	srv := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ConnState: s.count, ErrorLog: slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if srv.Shutdown(patience) != nil {
		srv.Close()
	}
	return errors.Join(err, s.open.close())
}

// What a server serves at once at most: each connection takes a file, of which a process
// has about a thousand, and each stream takes work with every change.
const (
	maxConns   = 500
	maxStreams = 50
)

// count counts the connections, and closes those that are too many.
func (s *server) count(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.conns.Add(1) > maxConns {
			conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.conns.Add(-1)
	}
}

// policy is what the page may do: run its own scripts and styles, and ask its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler returns what answers requests.
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
	all.Handle("/", s.Guard.Screen(open))
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

// start answers with what the page has to know before it has a token.
func (s *server) start(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"project": s.Project, "version": s.Version})
}

// hello proves to who knows its secret that this is the server that it was: to a flame on
// this machine, and to a page before it sends the token again.
func (s *server) hello(w http.ResponseWriter, r *http.Request) {
	challenge := r.URL.Query().Get("challenge")
	if len(challenge) < challengeSize || len(challenge) > 4*challengeSize || strings.ContainsFunc(challenge, func(c rune) bool { return c > '~' }) {
		http.Error(w, "no challenge", http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"proof": guard.Proof(s.Secret, s.addr, challenge)})
}

// reads returns what answers a question about a project.
func (s *server) reads(read func(q query) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		f, leave, err := s.open.feed(r.Context(), r.PathValue("project"))
		if err != nil {
			return nil, err
		}
		defer leave()
		return read(query{Request: r, agents: f.Agents()})
	}
}

// does returns what does something to a project as the page asks.
func (s *server) does(act func(q query, a action) (string, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		a, err := actionOf(r)
		if err != nil {
			return nil, err
		}
		f, leave, err := s.open.feed(r.Context(), r.PathValue("project"))
		if err != nil {
			return nil, err
		}
		defer leave()
		said, err := act(query{Request: r, agents: f.Agents()}, a)
		return map[string]string{"said": strings.TrimSpace(said)}, err
	}
}

// live streams a project to a page.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		refuse(w, core.Unavailablef(nil, "%d pages show projects live, and this server serves no more", maxStreams).WithHint("close some of them"))
		return
	}
	f, leave, err := s.open.feed(r.Context(), r.PathValue("project"))
	if err != nil {
		refuse(w, err)
		return
	}
	defer leave()
	s.stream(w, r, f)
}

func (s *server) projects(r *http.Request) (any, error) {
	all, err := s.Projects(r.Context())
	return map[string]any{"own": s.Project, "projects": append([]Listed{}, all...)}, err
}
