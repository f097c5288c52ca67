// Package gateway stands between a host and its model: it passes on what the host sends,
// leaves out of it what was done in finished frames, and measures what each answer costs.
// It is never in the way: what it cannot read, or cannot decide on in time, goes out as it
// came.
package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"flame/gateway/upstream"
	"flame/guard"
	"flame/hosts"
	"flame/project"
)

// Folding says what a gateway leaves out of requests.
type Folding string

// The ways of folding.
const (
	On   Folding = "on"   // finished frames
	Edit Folding = "edit" // nothing: the API's own context editing clears old results of tools
	Off  Folding = "off"  // nothing
)

// Options are what a gateway works with.
type Options struct {
	Project  *project.Project // whose Fold says whether finished frames are left out where Folding is On
	Host     string           // name of the host
	Agent    string           // id of the agent whose host asks; empty outside of agents
	Wire     *hosts.Wire
	Upstream *url.URL // base URL of the model's API
	Secret   string   // first segment of the path of each request; others are refused
	Folding  Folding
	// Transport sends requests on; nil: by HTTP, with the proxies and certificates of the
	// environment.
	Transport http.RoundTripper
	// Metered is told of each request once it is answered, before the store is; nil: of
	// none. It is called by one goroutine at a time.
	Metered func(Metered)
	// Grace is how long it waits at its end for answers under way; 0: a few seconds.
	Grace time.Duration
	// Patience is how long a request waits for what to leave out of it; 0: 450 ms.
	Patience time.Duration
	Log      *slog.Logger
}

// A Gateway is the proxy between a host and its model.
type Gateway struct {
	Options
	proxy  *httputil.ReverseProxy
	teller *teller

	asking sync.RWMutex // held to read while a request is under way

	mu       sync.Mutex
	sessions map[string]*session // by id, of subagents by theirs
}

// New returns a gateway. It alone must use the project that it is given. From then on this
// process writes nothing to the standard log, and on Linux no core file.
func New(o Options) *Gateway {
	upstream.KeepSecrets()
	o.Grace = cmp.Or(o.Grace, grace)
	o.Patience = cmp.Or(o.Patience, patience)
	o.Transport = cmp.Or[http.RoundTripper](o.Transport, upstream.Transport(o.Log))
	o.Project.Fold = o.Project.Fold && o.Folding == On
	g := &Gateway{Options: o, sessions: map[string]*session{}}
	g.teller = newTeller(g)
	g.proxy = g.newProxy()
	return g
}

const (
	grace    = 3 * time.Second // that a gateway which ends waits for answers under way
	breaking = time.Second     // that requests take to end once their connections are closed
)

// Serve answers the connections of a listener until ctx is done, and then stores what it
// measured.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: g.handler(), Protocols: &protocols, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // it quotes what passes
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var failed error
	select {
	case failed = <-served:
	case <-ctx.Done():
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Grace)
		if server.Shutdown(soon) != nil {
			_ = server.Close() // what still streams has nobody to read it
		}
		cancel()
	}
	g.settle()
	if t, ok := g.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	g.teller.close()
	if errors.Is(failed, http.ErrServerClosed) {
		return nil
	}
	return failed
}

// settle waits until no request is under way, so that all of them are told of, and has the
// handler take no more. One that does not end is not told of.
func (g *Gateway) settle() {
	over := make(chan struct{})
	go func() {
		g.asking.Lock() // for good
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(breaking):
	}
}

// handler passes on what the host sends. Others cannot know the path; a page in a browser
// is refused by its Host and Origin.
func (g *Gateway) handler() http.Handler {
	passes, err := guard.WithoutToken("127.0.0.1:0")
	if err != nil {
		panic(err) // it is an address of loopback
	}
	return passes.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if !same(first, g.Secret) {
			http.NotFound(w, r)
			return
		}
		if !g.asking.TryRLock() {
			panic(http.ErrAbortHandler) // the gateway ends
		}
		defer g.asking.RUnlock()
		// Unless the upstream says so, the answer has none of these.
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		if r.Method == http.MethodPost && rest == "v1/messages" {
			g.serveMessages(w, r)
			return
		}
		if keep(r) != nil {
			panic(http.ErrAbortHandler) // the host is gone, or does not obey HTTP
		}
		g.proxy.ServeHTTP(w, r)
	}))
}

// same compares in a time that tells nothing of the texts.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
