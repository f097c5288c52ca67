package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"time"
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
		ErrorLog:       slog.NewLogLogger(g.Log.Handler(), slog.LevelDebug),
		BufferPool:     &buffers{sync.Pool{New: func() any { return new([bufferSize]byte) }}},
	}
}

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
	if exchangeOf(r.In.Context()) != nil {
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
	if _, given := r.In.Header["User-Agent"]; !given {
		r.Out.Header["User-Agent"] = nil // else Go's own would be added
	}
}

// modifyResponse reads an answer as it passes.
func modifyResponse(response *http.Response) error {
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
	g.Log.Warn("the model's API does not answer", "host", g.Upstream.Host, "error", plain(err))
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{ // of texts alone
		"type": "api_error", "message": fmt.Sprintf("flame's gateway got no answer from %s: %s", g.Upstream.Host, plain(err)),
	}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body)
}

// plain returns what went wrong without the URL, which may have a user's name in it.
func plain(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

const bufferSize = 32 << 10

// buffers are those of answers that pass.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }

// newTransport returns the usual transport: proxies and certificates as the environment
// names them, no limit to how long a model thinks, and answers as they are encoded.
func newTransport(log *slog.Logger) http.RoundTripper {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second,
		DisableCompression: true,
	}
	if file := os.Getenv(extraCertificates); file != "" {
		pool, err := withCertificates(file)
		if err != nil {
			log.Warn("certificates cannot be read", "variable", extraCertificates, "error", err)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t
}

// extraCertificates names a file of certificates that programs on Node.js trust beside the
// system's.
const extraCertificates = "NODE_EXTRA_CA_CERTS"

// withCertificates returns the system's certificates and those of a file; nil, which means
// the system's, if it cannot be read.
func withCertificates(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("there is none in " + file)
	}
	return pool, nil
}
