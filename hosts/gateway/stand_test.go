package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/claudecode"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/usage"
	"flame/store"
	"flame/tests/projecttest"
)

// A stand is a gateway with any upstream behind it.
type stand struct {
	t        *testing.T
	addr     string // of the gateway
	upstream string // its address
	data     string // folder of the store
	log      logged
	metered  chan usage.MeteredRequest
	stop     func()
}

// soon is how long a test waits for what must come.
const soon = time.Minute

// newStand starts a gateway before an upstream. Each change changes its options.
func newStand(t *testing.T, upstream string, changes ...func(*gateway.Options)) *stand {
	t.Helper()
	f := projecttest.New(t)
	kept := store.Open(f.Data, store.Options{}) // without the checks of the fixture's, which are for one goroutine
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	p := *f.Project
	p.Store, p.NewID, p.Fold = kept, project.NewID, true
	p.Now = func() core.Millis { return core.MillisOf(time.Now()) }
	base, err := url.Parse(upstream)
	require.NoError(t, err)
	s := &stand{t: t, upstream: base.Host, data: f.Data, metered: make(chan usage.MeteredRequest, 2000)}
	wire := *claudecode.Host().Gateway.Spec
	o := gateway.Options{
		Project: &p, Host: claudecode.Name, Wire: &wire, Upstream: base, Secret: secret, Folding: gateway.FoldOn,
		Metered: func(m usage.MeteredRequest) { s.metered <- m }, Patience: soon,
		Log: slog.New(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, change := range changes {
		change(&o)
	}
	s.addr, s.stop = serveGateway(t, o)
	return s
}

// serveGateway serves a gateway at an address until it is stopped, or the test ends.
func serveGateway(t *testing.T, o gateway.Options) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	g := gateway.New(o)
	go func() { done <- g.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-done) })
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// before starts a gateway before a handler.
func before(t *testing.T, upstream http.HandlerFunc, changes ...func(*gateway.Options)) *stand {
	t.Helper()
	server := httptest.NewServer(upstream)
	s := newStand(t, server.URL, changes...)
	t.Cleanup(server.Close) // before the gateway ends, for its connections
	return s
}

// beforeRaw starts a gateway before a server that answers each connection as it likes, of
// which the first request has been read.
func beforeRaw(t *testing.T, answer func(net.Conn, *http.Request)) *stand {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var working sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); working.Wait() })
	working.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			working.Go(func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
				}
				if err == nil {
					answer(conn, r)
				}
			})
		}
	})
	return newStand(t, "http://"+l.Addr().String())
}

func (s *stand) url(path string) string { return "http://" + s.addr + "/" + secret + path }

// client has no connections that others use.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: soon, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends a request of the main session.
func (s *stand) post(path string, body io.Reader, header ...string) (*http.Response, error) {
	s.t.Helper()
	return client(s.t).Do(s.request(path, body, header...))
}

func (s *stand) request(path string, body io.Reader, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url(path), body)
	require.NoError(s.t, err)
	r.Header.Set("X-Claude-Code-Session-Id", "s")
	r.Header.Set("X-Claude-Code-Request-Class", "main")
	r.Header.Set("X-Api-Key", key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// meter returns what the next request that is told of came to.
func (s *stand) meter() usage.MeteredRequest {
	s.t.Helper()
	select {
	case m := <-s.metered:
		return m
	case <-time.After(soon):
		require.FailNow(s.t, "no request was metered", s.log.String())
	}
	return usage.MeteredRequest{}
}

// raw sends bytes to the gateway as they are, and returns all that it answers.
func (s *stand) raw(request string) *http.Response {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(soon)))
	_, err = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
	require.NoError(s.t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(s.t, err)
	return response
}

// key and prompt must be nowhere but in what passes.
const (
	key    = "sk-ant-very-private-key"
	prompt = "the-words-of-a-private-prompt"
)

// body is a request for an answer.
func body(text string) string {
	return `{"model":"claude-opus-5-5","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"` + text + `"}]}]}`
}

func readAll(t *testing.T, response *http.Response) []byte {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return text
}

// A logged is a log that several goroutines write.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was logged.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// files returns all that is in a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	return all.String()
}
