package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
	"flame/hosts/gateway"
)

func TestBrokenUpstreamsAreReported(t *testing.T) {
	t.Parallel()
	const start = streamStart
	tests := map[string]struct {
		answer string
		status int
		cut    bool   // the host sees that it does not end as it should
		words  string // of the gateway's own answer
	}{
		"closes at once":        {status: 502, words: "it closed the connection"},
		"closes in the headers": {answer: "HTTP/1.1 200 OK\r\nContent-", status: 502, words: "its answer is not valid HTTP"},
		"garbage":               {answer: prompt + "\x00\xff\r\n\r\n", status: 502, words: "its answer is not valid HTTP"},
		"garbage in a header":   {answer: "HTTP/1.1 200 OK\r\n" + prompt + "\r\n\r\n", status: 502, words: "its answer is not valid HTTP"},
		"an endless header":     {answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 11<<20), status: 502, words: "its answer is not valid HTTP"},
		"a stream that is cut": {
			answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(start), start),
			status: 200, cut: true,
		},
		"a stream with broken chunks": {
			answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
				fmt.Sprintf("%x\r\n%s\r\n%s\r\n", len(start), start, prompt),
			status: 200, cut: true,
		},
		"broken trailers": {
			answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
				fmt.Sprintf("%x\r\n%s\r\n0\r\n%s\r\n\r\n", len(start), start, prompt),
			status: 200, cut: true,
		},
		"less than it said": {
			answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n" + start, status: 200, cut: true,
		},
		"more than it said": {
			answer: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s%s", len(start), start, prompt), status: 200,
		},
	}
	for name, tt := range tests {
		for _, path := range []string{"/v1/messages", "/v1/models"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				s := beforeRaw(t, func(c net.Conn, _ *http.Request) { _, _ = io.WriteString(c, tt.answer) })
				response, err := s.post(path, strings.NewReader(body(prompt)))
				require.NoError(t, err)
				defer response.Body.Close()
				assert.Equal(t, tt.status, response.StatusCode)
				text, err := io.ReadAll(response.Body)
				assert.Equal(t, tt.cut, err != nil, "%v", err)
				if tt.words != "" {
					assertAPIError(t, text, tt.words)
				} else {
					assert.Equal(t, start, string(text))
				}
				s.stop()
				if path == "/v1/messages" {
					m := s.meter()
					if tt.words != "" {
						assert.Zero(t, m.Status, "there was no answer")
					} else {
						assert.EqualValues(t, 10, m.Usage.TokensIn, "usage up to the error counts")
						assert.Equal(t, tt.status, m.Status)
					}
				}
				assert.NotContains(t, s.log.String(), prompt)
			})
		}
	}
}

// assertAPIError asserts that a text is an error in the API's form.
func assertAPIError(t *testing.T, text []byte, words string) {
	t.Helper()
	var e struct {
		Type  string
		Error struct{ Type, Message string }
	}
	require.NoError(t, json.Unmarshal(text, &e), "%s", text)
	assert.Equal(t, "error", e.Type)
	assert.Equal(t, "api_error", e.Error.Type)
	assert.Contains(t, e.Error.Message, words)
	assert.NotContains(t, e.Error.Message, prompt)
}

func TestAnUnreachableUpstream(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	s := newStand(t, "http://user:very-private-password@"+addr)
	for _, path := range []string{"/v1/messages", "/v1/models"} {
		response, err := s.post(path, strings.NewReader(body(prompt)))
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadGateway, response.StatusCode, "which hosts retry")
		assert.Equal(t, "application/json", response.Header.Get("Content-Type"))
		text := readAll(t, response)
		assertAPIError(t, text, "flame's gateway got no answer from "+addr+": connection refused")
		assert.NotContains(t, string(text), "very-private-password")
	}
	assert.Contains(t, s.log.String(), "connection refused")
	assert.NotContains(t, s.log.String(), "very-private-password")
}

// An outage is a network that comes back after some attempts.
type outage struct {
	http.RoundTripper
	left int
}

func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.left--; o.left < 0 {
		return o.RoundTripper.RoundTrip(r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func TestAHostThatWaitsForTheNetworkIsAnsweredOnceItIsThere(t *testing.T) {
	t.Parallel()
	for waits, status := range map[bool]int{true: http.StatusOK, false: http.StatusBadGateway} {
		s := before(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, func(o *gateway.Options) {
			wire := *o.Wire
			wire.Waits = waits
			o.Wire, o.Transport = &wire, &outage{http.DefaultTransport, 2}
		})
		response, err := s.post("/v1/messages", strings.NewReader(body(prompt)))
		require.NoError(t, err)
		assert.Equal(t, status, response.StatusCode)
		assert.Equal(t, waits, string(readAll(t, response)) == body(prompt), "the request arrives whole")
	}
}

func TestAnUpstreamThatHangsIsLeftWithItsHost(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/messages", "/v1/models"} {
		for _, after := range []string{"nothing", "headers", "words"} {
			t.Run(path+" after "+after, func(t *testing.T) {
				t.Parallel()
				arrived, left := make(chan struct{}), make(chan struct{})
				s := before(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // so that the server looks for the end of the connection
					if after == "words" {
						w.Header().Set("Content-Type", "text/event-stream")
						_, _ = io.WriteString(w, streamStart)
					}
					if after != "nothing" {
						_ = http.NewResponseController(w).Flush()
					}
					close(arrived)
					<-r.Context().Done()
					close(left)
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if after == "nothing" {
					go func() { <-arrived; cancel() }()
				}
				response, err := client(t).Do(s.request(path, strings.NewReader(body("x"))).WithContext(ctx))
				if after == "nothing" {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.NoError(t, err)
					if after == "words" {
						_, err = bufio.NewReader(response.Body).ReadString('\n')
						require.NoError(t, err)
					}
					cancel()
					require.NoError(t, response.Body.Close())
				}
				select {
				case <-left:
				case <-time.After(soon):
					assert.Fail(t, "the upstream still handles an abandoned request")
				}
				if path == "/v1/messages" {
					m := s.meter()
					assert.Equal(t, after != "nothing", m.Status == 200, "%d", m.Status)
					assert.Equal(t, after == "words", m.Usage.TokensIn == 10, "%+v", m.Usage)
				}
				assert.NotContains(t, s.log.String(), "WARN", "a host may go")
			})
		}
	}
}

func TestConnectionsThatTheUpstreamClosesAreMadeAgain(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/models"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			const answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
			var connections atomic.Int32
			s := beforeRaw(t, func(c net.Conn, _ *http.Request) {
				connections.Add(1)
				_, _ = io.WriteString(c, answer)
				// The next request on this connection is read, and never answered.
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
				}
			})
			for range 3 {
				response, err := s.post(path, strings.NewReader(body("hi")))
				require.NoError(t, err)
				assert.Equal(t, http.StatusOK, response.StatusCode)
				assert.Equal(t, "x", string(readAll(t, response)))
			}
			assert.EqualValues(t, 3, connections.Load())
		})
	}
}

func TestAnAnswerBeforeTheEndOfTheRequestPasses(t *testing.T) {
	t.Parallel()
	const text = `{"type":"error","error":{"type":"request_too_large"}}`
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := before(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(text)))
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				_, _ = io.WriteString(w, text)
			})
			response, err := s.post(path, strings.NewReader(body(strings.Repeat("x", 8<<20))))
			require.NoError(t, err)
			assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
			assert.Equal(t, text, string(readAll(t, response)))
		})
	}
}

// endless is read for as long as anybody likes.
type endless struct{ left int64 }

// Read returns x and x again.
func (e *endless) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), e.left))
	for i := range n {
		p[i] = 'x'
	}
	e.left -= int64(n)
	if e.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

func TestALineWithoutEndTakesNoMemory(t *testing.T) {
	for _, kind := range []string{"text/event-stream", "application/json"} {
		const size = 240 << 20
		s := before(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.Copy(w, &endless{size})
		})
		var begun, ended runtime.MemStats
		runtime.ReadMemStats(&begun)
		response, err := s.post("/v1/messages", strings.NewReader(body("x")))
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.EqualValues(t, size, n)
		runtime.ReadMemStats(&ended)
		assert.Less(t, ended.TotalAlloc-begun.TotalAlloc, uint64(size/2), "of all that was ever allocated")
		assert.Zero(t, s.meter().Usage.TokensIn)
	}
}

func TestASlowReaderGetsAll(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	written := make(chan struct{})
	s := before(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, &endless{size})
		close(written)
	})
	response, err := s.post("/v1/messages", strings.NewReader(body("x")))
	require.NoError(t, err)
	part := make([]byte, 1000)
	_, err = io.ReadFull(response.Body, part)
	require.NoError(t, err)
	select {
	case <-written:
		assert.Fail(t, "the gateway must not buffer an answer that the host does not read")
	default:
	}
	assert.Len(t, readAll(t, response), size-1000)
	<-written
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const each = 50
	s := before(t, func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for part := range strings.Lines(string(text)) {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	})
	shared := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(shared.CloseIdleConnections)
	var all sync.WaitGroup
	for i := range each {
		all.Go(func() {
			want := body(strings.Repeat(fmt.Sprintf("%d ", i), 10_000))
			r := s.request("/v1/messages", strings.NewReader(want), "X-Claude-Code-Session-Id", fmt.Sprint("session-", i%7))
			response, err := shared.Do(r)
			if assert.NoError(t, err) {
				text, err := io.ReadAll(response.Body)
				assert.NoError(t, err)
				assert.True(t, want == string(text))
				assert.NoError(t, response.Body.Close())
			}
		})
	}
	all.Wait()
	for range each {
		m := s.meter()
		assert.Equal(t, 200, m.Status)
		assert.Equal(t, m.Given, m.Sent)
	}
}

func TestInternalErrorsDoNotStopRequests(t *testing.T) {
	t.Parallel()
	wrong := func() { panic(errors.New(prompt + key)) }
	tests := map[string]func(*hosts.GatewaySpec){
		"headers": func(w *hosts.GatewaySpec) {
			w.RequestInfo = func(h http.Header, _ []byte) hosts.RequestInfo { panic(h) }
		},
		"words":   func(w *hosts.GatewaySpec) { w.UserWords = func(text string, _ bool) string { panic(text) } },
		"summary": func(w *hosts.GatewaySpec) { w.IsSummary = func(text string) bool { panic(text) } },
		"prices":  func(w *hosts.GatewaySpec) { w.Prices = func(string, bool) (float64, float64) { wrong(); return 0, 0 } },
		"nil":     func(w *hosts.GatewaySpec) { w.Prices = nil },
		"usage":   func(w *hosts.GatewaySpec) { w.Usage = nil },
		"an index": func(w *hosts.GatewaySpec) {
			w.UserWords = func(text string, _ bool) string { return text[len(text)+1:] }
		},
	}
	const answer = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-opus-5-5\",\"usage\":{\"input_tokens\":9}}}\n\n"
	for name, breaks := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			s := before(t, func(w http.ResponseWriter, r *http.Request) {
				recorder(got)(w, r)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, answer)
			}, func(o *gateway.Options) { breaks(o.Wire) })
			response, err := s.post("/v1/messages", strings.NewReader(body(prompt)))
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, answer, string(readAll(t, response)))
			assert.Equal(t, body(prompt), (<-got).body)
			s.stop()
			log := s.log.String()
			assert.Contains(t, log, "the gateway failed on")
			for _, private := range []string{prompt, key, secret} {
				assert.NotContains(t, log, private)
			}
			if name != "headers" {
				assert.Equal(t, 200, s.meter().Status, "the usage is recorded as far as it is known")
			}
		})
	}
}
