package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"

	"flame/gateway/upstream"
)

// newProxy returns the proxy to the upstream. It keeps all headers but those of the
// connection.
func (g *Gateway) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      g.Transport,
		FlushInterval:  -1, // at once
		ModifyResponse: modifyResponse,
		ErrorHandler:   g.unreachable,
		ErrorLog:       log.New(io.Discard, "", 0), // it quotes what passes
		BufferPool:     &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}},
	}
}

// forwarding are headers of proxies on the way to the gateway.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

const idempotencyKey = "Idempotency-Key"

// rewrite aims a request at the upstream: the path without the secret, below that of the
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
		// Not sent, but so it is asked again where the upstream closes the connection of
		// earlier requests in that moment. The host would do the same.
		r.Out.Header[idempotencyKey] = nil
	}
}

// modifyResponse reads an answer as it passes. It takes away what would let pages in a
// browser read it.
func modifyResponse(response *http.Response) error {
	maps.DeleteFunc(response.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "Access-Control-") })
	if x := exchangeOf(response.Request.Context()); x != nil {
		x.answered(response)
	}
	return nil
}

// unreachable answers for an upstream that does not, in the API's form: hosts retry after
// it. A host that has gone needs no answer.
func (g *Gateway) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	g.Log.Warn("the model's API does not answer", "host", g.Upstream.Host, "error", upstream.CauseOf(err))
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{ // of texts alone
		"type": "api_error", "message": fmt.Sprintf("flame's gateway got no answer from %s: %s", g.Upstream.Host, upstream.CauseOf(err)),
	}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body)
}

const bufferSize = 32 << 10

// buffers are those of answers that pass.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
