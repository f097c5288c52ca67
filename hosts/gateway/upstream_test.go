package gateway

import (
	"bufio"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/cases"
)

// asks is the variable that makes a run of the tests a process that asks a URL.
const asks = "FLAME_TEST_UPSTREAM_ASKS"

func TestMain(m *testing.M) {
	url := os.Getenv(asks)
	if url == "" {
		os.Exit(m.Run())
	}
	t := transport(slog.New(slog.NewTextHandler(os.Stdout, nil)))
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader("hello"))
	if err != nil {
		panic(err)
	}
	response, err := t.RoundTrip(r)
	if err != nil {
		fmt.Println("no answer:", causeOf(err))
		return
	}
	text, err := io.ReadAll(response.Body)
	fmt.Println(response.Proto, string(text), err)
}

// ask asks a URL in a process with an environment of its own.
func ask(t *testing.T, url string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append([]string{"HOME=" + t.TempDir(), asks + "=" + url}, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// api is a server that speaks HTTP/2 and TLS, and file has its certificate.
func api(t *testing.T) (server *httptest.Server, file string) {
	t.Helper()
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "api of "+r.Host) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "own.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return server, file
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	server, own := api(t)
	odd := filepath.Join(t.TempDir(), "odd.pem")
	require.NoError(t, os.WriteFile(odd, []byte("none"), 0o600))
	trusted, untrusted := "HTTP/2.0 api of "+strings.TrimPrefix(server.URL, "https://"), "no answer: its certificate is not trusted"
	tests := map[string]struct {
		env   []string
		wants []string
	}{
		"none":                 {wants: []string{untrusted, "NODE_EXTRA_CA_CERTS can name"}},
		"as Node.js has them":  {env: []string{"NODE_EXTRA_CA_CERTS=" + own}, wants: []string{trusted}},
		"as others have them":  {env: []string{"SSL_CERT_FILE=" + own}, wants: []string{trusted}},
		"both":                 {env: []string{"SSL_CERT_FILE=" + own, "NODE_EXTRA_CA_CERTS=" + odd}, wants: []string{trusted, "there is none in " + odd}},
		"a file that is not":   {env: []string{"NODE_EXTRA_CA_CERTS=/none/at/all"}, wants: []string{untrusted, "flame cannot read certificates", "/none/at/all"}},
		"a file without these": {env: []string{"NODE_EXTRA_CA_CERTS=" + odd}, wants: []string{untrusted, "there is none in " + odd}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, server.URL, tt.env...)
			for _, want := range tt.wants {
				assert.Contains(t, got, want)
			}
		})
	}
}

// A proxy passes on what it is asked for, and notes it.
type proxy struct {
	addr string
	to   string // where all goes
	mu   sync.Mutex
	seen []string
}

// startProxy starts a proxy that answers with a status; only with 200 it lets anything
// pass.
func startProxy(t *testing.T, to string, status int) *proxy {
	t.Helper()
	p := &proxy{to: to}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		p.mu.Unlock()
		if r.Method != http.MethodConnect || status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "of the proxy")
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if !assert.NoError(t, err) {
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}))
	t.Cleanup(server.Close)
	p.addr = strings.TrimPrefix(server.URL, "http://")
	return p
}

func TestProxies(t *testing.T) {
	t.Parallel()
	server, own := api(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") }))
	t.Cleanup(plain.Close)
	port := func(url string) string { return url[strings.LastIndex(url, ":"):] }
	urls := strings.NewReplacer("TLS", "https://example.com"+port(server.URL), "CLEAR", "http://0.0.0.0"+port(plain.URL))
	tests := cases.Read[struct {
		URL    string
		Status int // of the proxy
		Env    []string
		Want   string
		Seen   string // by the proxy
	}](t, "testdata/proxies.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, server.Listener.Addr().String(), tt.Status)
			env := []string{"NODE_EXTRA_CA_CERTS=" + own}
			for _, variable := range tt.Env {
				env = append(env, strings.ReplaceAll(variable, "PROXY=http://PROXY", "PROXY=http://"+p.addr))
			}
			for i := range env {
				env[i] = strings.ReplaceAll(env[i], "@PROXY", "@"+p.addr)
			}
			got := ask(t, urls.Replace(tt.URL), env...)
			assert.Contains(t, got, tt.Want)
			assert.NotContains(t, got, "very-private")
			p.mu.Lock()
			defer p.mu.Unlock()
			if tt.Seen == "" {
				assert.Empty(t, p.seen)
				return
			}
			require.Len(t, p.seen, 1)
			assert.Contains(t, p.seen[0], tt.Seen)
		})
	}
}

func TestServersThatDoNotSpeakAsExpected(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	assert.Equal(t, "no answer: it does not speak TLS\n", ask(t, strings.Replace(plain.URL, "http:", "https:", 1)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(conn, "a-private-word\r\n\r\n")
			_ = conn.Close()
		}
	}()
	assert.Equal(t, "no answer: its answer is not valid HTTP (*errors.errorString)\n", ask(t, "http://"+l.Addr().String()))
}

func TestALostConnectionIsFoundOut(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	way := transport(slog.New(slog.NewTextHandler(&told, nil)))
	require.NotNil(t, way.HTTP2)
	assert.LessOrEqual(t, way.HTTP2.SendPingTimeout+way.HTTP2.PingTimeout, 30*time.Second)
	assert.Positive(t, way.HTTP2.SendPingTimeout)
	assert.Zero(t, way.ResponseHeaderTimeout, "models think long")
	assert.Empty(t, told.String())
}
