package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gateway"
)

// speaking returns a client that speaks one version of HTTP, without TLS.
func speaking(t *testing.T, version2 bool) *http.Client {
	var p http.Protocols
	p.SetHTTP1(!version2)
	p.SetUnencryptedHTTP2(version2)
	transport := &http.Transport{Protocols: &p}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: soon}
}

func TestVersionsOfHTTP(t *testing.T) {
	t.Parallel()
	const start = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":9}}}\n\n"
	tests := map[string]struct{ host, api bool }{
		"1 on both sides": {}, "2 of the host": {host: true}, "2 of the API": {api: true}, "2 on both sides": {host: true, api: true},
	}
	for name, version2 := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, left := make(chan string), make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, version2.api, r.ProtoMajor == 2)
				text, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				assert.Equal(t, body(prompt), string(text))
				assert.Empty(t, r.Header["User-Agent"])
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, start)
				_ = http.NewResponseController(w).Flush()
				switch <-next {
				case "cut":
					panic(http.ErrAbortHandler)
				case "wait":
					<-r.Context().Done()
					close(left)
				}
			}))
			server.EnableHTTP2 = version2.api
			server.StartTLS()
			s := newStand(t, server.URL, func(o *gateway.Options) { o.Transport = server.Client().Transport })
			t.Cleanup(server.Close)
			host := speaking(t, version2.host)
			for _, how := range []string{"end", "cut", "wait"} {
				ctx, cancel := context.WithCancel(t.Context())
				r := s.request("/v1/messages", strings.NewReader(body(prompt))).WithContext(ctx)
				r.Header["User-Agent"] = nil
				response, err := host.Do(r)
				require.NoError(t, err)
				assert.Equal(t, version2.host, response.ProtoMajor == 2)
				got := make([]byte, len(start))
				_, err = io.ReadFull(response.Body, got)
				require.NoError(t, err, "it is there at once")
				next <- how
				if how == "wait" {
					cancel()
				}
				_, err = io.ReadAll(response.Body)
				assert.Equal(t, how == "end", err == nil, "%s: %v", how, err)
				if how == "wait" {
					select {
					case <-left:
					case <-time.After(soon):
						assert.Fail(t, "the upstream still handles an abandoned request")
					}
				}
				require.NoError(t, response.Body.Close())
				assert.EqualValues(t, 9, s.meter().Usage.TokensIn)
				cancel()
			}
		})
	}
}
