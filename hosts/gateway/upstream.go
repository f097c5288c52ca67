package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// keepSecrets keeps requests and answers out of everything that this process writes. net/http
// quotes unexpected data of a server in the standard log; a core file would hold all.
func keepSecrets() {
	log.SetOutput(io.Discard)
	keepMemory()
}

// transport returns the usual transport: proxies and certificates as the environment
// names them, no limit to how long a model thinks, and answers as they are encoded.
func transport(log *slog.Logger) *http.Transport {
	t := &http.Transport{
		Proxy:                  proxyOf,
		OnProxyConnectResponse: connected,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		// A connection that a sleeping machine lost is found out: many requests share one.
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second,
		DisableCompression: true,
	}
	for _, variable := range []string{nodeCertificates, certificates} {
		file := os.Getenv(variable)
		if file == "" {
			continue
		}
		if t.TLSClientConfig == nil {
			pool, err := x509.SystemCertPool()
			if err != nil {
				pool = x509.NewCertPool()
			}
			t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		}
		if err := addCertificates(t.TLSClientConfig.RootCAs, file); err != nil {
			log.Warn("flame cannot read certificates", "variable", variable, "error", err)
		}
	}
	return t
}

// connecting returns the transport to the upstream. For a host that waits for the network it waits
// too: the host sees a connection, and would count its answer as one of few attempts.
func (g *Gateway) connecting() http.RoundTripper {
	if !g.Wire.Waits {
		return g.Transport
	}
	return waiting{g.Transport}
}

// A waiting transport repeats a request whose connection cannot be opened for up to outage.
type waiting struct{ http.RoundTripper }

// How long a request waits for the network, and between attempts. After an outage the host says
// what is the matter, and tries again: Codex CLI some thirty times.
const (
	outage = time.Minute
	pause  = 250 * time.Millisecond
)

// RoundTrip sends the request.
func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	for until := time.Now().Add(outage); ; {
		answer, err := w.RoundTripper.RoundTrip(r)
		var failed *net.OpError
		unsent := errors.As(err, &failed) && (failed.Op == "dial" || failed.Op == "proxyconnect")
		if !unsent || r.GetBody == nil || time.Now().After(until) {
			return answer, err
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
		r = r.Clone(r.Context())
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// Variables that name a file of certificates.
const (
	nodeCertificates = "NODE_EXTRA_CA_CERTS" // beside the system's, for programs on Node.js
	certificates     = "SSL_CERT_FILE"       // in their place, but on macOS, where Go does not read it
)

func addCertificates(pool *x509.CertPool, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !pool.AppendCertsFromPEM(text) {
		return errors.New("there is none in " + file)
	}
	return nil
}

// proxyOf returns the proxy that the environment names for a request; nil: none.
func proxyOf(r *http.Request) (*url.URL, error) {
	if isExcepted(r.URL.Hostname()) {
		return nil, nil
	}
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, cause("flame cannot use the proxy of the environment") // err may quote it
	}
	return proxy, nil
}

// isExcepted reports whether NO_PROXY has the host between spaces, as hosts on Node.js
// may. The standard library reads commas alone.
func isExcepted(host string) bool {
	host = strings.ToLower(host)
	for _, variable := range []string{"NO_PROXY", "no_proxy"} {
		names := strings.Fields(strings.ToLower(os.Getenv(variable)))
		for _, name := range names {
			name = strings.TrimPrefix(strings.Trim(name, ","), ".")
			if len(names) > 1 && name != "" && (host == name || strings.HasSuffix(host, "."+name)) {
				return true
			}
		}
	}
	return false
}

// connected looks at what a proxy answers.
func connected(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return cause(fmt.Sprintf("the proxy answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))
}

// A cause says in flame's words why the upstream did not answer.
type cause string

// Error returns the words.
func (c cause) Error() string { return string(c) }

// causeOf returns why the upstream did not answer, without any content and without the URLs of the API
// and of a proxy: net/http quotes them in its errors.
func causeOf(err error) cause {
	var (
		own   cause
		dns   *net.DNSError
		cert  *tls.CertificateVerificationError
		alert tls.AlertError
		plain tls.RecordHeaderError
		errno syscall.Errno
		slow  net.Error
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &dns):
		return "the lookup of its name failed"
	case errors.As(err, &cert):
		return cause(fmt.Sprintf("its certificate is not trusted (%s can name a file of others that are): %s", nodeCertificates, cert.Err))
	case errors.As(err, &alert):
		return cause(alert.Error())
	case errors.As(err, &plain):
		return "it does not speak TLS"
	case errors.As(err, &errno):
		return cause(errno.Error())
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection"
	case errors.As(err, &slow) && slow.Timeout():
		return "it took too long"
	}
	return cause(fmt.Sprintf("its answer is not valid HTTP (%T)", innermost(err)))
}

func innermost(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}
