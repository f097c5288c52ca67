// Package gateway is a proxy between a host and its model: it passes on the host's requests,
// leaves out the work of finished frames, and measures the cost of each answer. It sends a request
// unchanged if it cannot read the request, or cannot decide in time.
package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"flame/hosts"
	"flame/hosts/gateway/codec"
	"flame/local/guard"
	"flame/project"
	"flame/project/usage"
)

// Folding says what a gateway leaves out of requests.
type Folding string

// The ways of folding.
const (
	FoldAuto  Folding = "auto" // FoldOn if the host's Gateway says that it Folds, else FoldOff
	FoldOn    Folding = "on"   // finished frames
	FoldByAPI Folding = "edit" // nothing: the API's own context editing clears old results of tools
	FoldOff   Folding = "off"  // nothing
)

// Options configure a gateway.
type Options struct {
	Project  *project.Project // whose Fold says whether finished frames are left out where Folding is FoldOn
	Host     string           // name of the host
	Agent    string           // id of the agent whose host asks; empty outside of agents
	Wire     *hosts.GatewaySpec
	Name     string   // of the gateway, as env.Gateway has it for the processes behind it; may be empty
	Upstream *url.URL // base URL of the model's API
	Secret   string   // first segment of the path of each request; the gateway refuses others
	Folding  Folding
	// Transport sends requests on; nil: by HTTP, with the proxies and certificates of the
	// environment.
	Transport http.RoundTripper
	// Metered is called with each request once it is answered, before it is stored, by one
	// goroutine at a time; it may be nil.
	Metered func(usage.MeteredRequest)
	// Grace is how long a gateway that ends waits for unfinished answers; 0: a few seconds.
	Grace time.Duration
	// Patience is how long a request waits for the decision what to leave out; 0: 450 ms.
	Patience time.Duration
	Log      *slog.Logger
}

// A Gateway is the proxy between a host and its model.
type Gateway struct {
	Options
	api    *codec.Codec
	proxy  *httputil.ReverseProxy
	teller *measurementWriter

	asking sync.RWMutex // read-locked while a request is handled

	mu       sync.Mutex
	sessions map[string]*session // by the ids of session and subagent
}

// dialects are the APIs that gateways read.
var dialects = map[hosts.API]func() *codec.Codec{
	hosts.MessagesAPI: codec.Messages, hosts.ResponsesAPI: codec.Responses, hosts.ContentsAPI: codec.Contents,
}

// New returns a gateway. It alone must use the project that it is given. From then on this
// process writes nothing to the standard log, and on Linux no core file.
func New(o Options) *Gateway {
	keepSecrets()
	o.Grace = cmp.Or(o.Grace, grace)
	o.Patience = cmp.Or(o.Patience, patience)
	o.Transport = cmp.Or[http.RoundTripper](o.Transport, transport(o.Log))
	if o.Folding == FoldAuto {
		o.Folding = FoldOff
		if o.Wire.Folds {
			o.Folding = FoldOn
		}
	}
	o.Project.Fold = o.Project.Fold && o.Folding == FoldOn
	g := &Gateway{Options: o, api: dialects[o.Wire.API](), sessions: map[string]*session{}}
	g.teller = newTeller(g)
	g.proxy = g.newProxy()
	return g
}

const (
	grace    = 3 * time.Second // for unfinished answers when a gateway ends
	breaking = time.Second     // for requests to end once their connections are closed
)

// Serve answers the connections of a listener until ctx is done, and then stores what it
// measured.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler: g.handler(), Protocols: &protocols, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // it quotes requests
	}
	err := guard.Serve(ctx, l, server, g.Grace, nil) // after that the host reads no answer any more
	g.settle()
	if t, ok := g.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	g.teller.close()
	return err
}

// settle stops the handler from accepting requests and waits for the requests that it handles, so
// that all of them are reported, except for a request that does not end.
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

// handler passes on requests of the host. Other programs do not know the path. The handler refuses
// pages in a browser because of their Host and Origin.
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
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && g.api.IsModelCall(rest) {
			w.WriteHeader(http.StatusUpgradeRequired) // to HTTP: the gateway reads nothing else
			return
		}
		if r.Method == http.MethodPost && g.api.IsModelCall(rest) {
			g.serveAnswer(w, r, rest)
			return
		}
		if keep(r) != nil {
			panic(http.ErrAbortHandler) // the host is gone, or does not obey HTTP
		}
		g.proxy.ServeHTTP(w, r)
	}))
}

// same compares texts in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// newProxy returns the proxy to the upstream. It keeps all headers but those of the
// connection.
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      g.connecting(),
		FlushInterval:  -1, // at once
		ModifyResponse: modifyResponse,
		ErrorHandler:   g.unreachable,
		ErrorLog:       log.New(io.Discard, "", 0), // it quotes what passes
	}
}

// forwarding are headers of proxies on the way to the gateway.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

const idempotencyKey = "Idempotency-Key"

// rewrite sends a request to the upstream: to the path without the secret, below the path of the
// upstream.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	trimmed := *r.In.URL
	trimmed.Path = strings.TrimPrefix(trimmed.Path, "/"+g.Secret)
	trimmed.RawPath = strings.TrimPrefix(trimmed.RawPath, "/"+g.Secret)
	r.Out.URL = &trimmed
	r.SetURL(g.Upstream)
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = ""
	for _, name := range forwarding {
		if values, given := r.In.Header[name]; given {
			r.Out.Header[name] = values // which the proxy takes away
		}
	}
	if exchangeOf(r.In.Context()) != nil {
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
	if _, given := r.In.Header["User-Agent"]; !given {
		r.Out.Header["User-Agent"] = nil // else Go's own would be added
	}
	if _, given := r.In.Header[idempotencyKey]; !given && r.Out.GetBody != nil {
		// The header is not sent, but with it the transport retries if the upstream closes an idle
		// connection at that moment. The host would do the same.
		r.Out.Header[idempotencyKey] = nil
	}
}

// modifyResponse reads an answer as it passes. It removes the headers that would let pages in
// a browser read it.
func modifyResponse(response *http.Response) error {
	maps.DeleteFunc(response.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Access-Control-") })
	if x := exchangeOf(response.Request.Context()); x != nil {
		x.answered(response)
	}
	return nil
}

// unreachable answers in the API's form for an upstream that does not answer, so that the host
// retries. A host that has gone needs no answer.
func (g *Gateway) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	g.Log.Warn("the model's API does not answer", "host", g.Upstream.Host, "error", causeOf(err))
	body, _ := json.Marshal(g.api.Failure(fmt.Sprintf("flame's gateway got no answer from %s: %s", g.Upstream.Host, causeOf(err)))) // of texts alone
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body)
}
