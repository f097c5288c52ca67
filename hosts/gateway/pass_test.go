package gateway_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gateway"
	"flame/tests/cases"
)

// A seen is a request as an upstream has it.
type seen struct {
	method, uri, host string
	header            http.Header
	body              string
}

// recorder answers all requests and tells of them.
func recorder(got chan<- seen) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // a request that is cut is seen as that
		got <- seen{r.Method, r.RequestURI, r.Host, r.Header, string(text)}
	}
}

func TestPathsPassAsTheyAre(t *testing.T) {
	t.Parallel()
	type row struct{ Method, Base, Path, Want string }
	tests := cases.Read[row](t, "testdata/paths.yaml")
	tests["a long path"] = row{"GET", "", "/" + strings.Repeat("x", 20_000), "/" + strings.Repeat("x", 20_000)}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			upstream := httptest.NewServer(recorder(got))
			s := newStand(t, upstream.URL+tt.Base)
			t.Cleanup(upstream.Close)
			response := s.raw(tt.Method + " /" + secret + tt.Path + " HTTP/1.1\nHost: localhost\nConnection: close\nContent-Length: 0\n\n")
			require.Equal(t, http.StatusOK, response.StatusCode)
			r := <-got
			assert.Equal(t, tt.Want, r.uri)
			assert.Equal(t, tt.Method, r.method)
			assert.Equal(t, strings.TrimPrefix(upstream.URL, "http://"), r.host)
		})
	}
}

func TestHeadersOfRequestsPass(t *testing.T) {
	t.Parallel()
	got := make(chan seen, 1)
	s := before(t, recorder(got))
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		require.Equal(t, http.StatusOK, s.raw("POST /"+secret+path+` HTTP/1.1
host: LOCALHOST:1
authorization: Bearer `+key+`
X-API-KEY: `+key+`
anthropic-beta: a,b
Anthropic-Beta: c
anthropic-version: 2023-06-01
x-twice: 1
x-twice: 2
X-Twice: 1
x-empty:
x-spaces:   in  the   middle   
cookie: a=b; c=d
x-forwarded-for: 10.0.0.1
forwarded: for=10.0.0.1
via: 1.1 somewhere
te: trailers
range: bytes=0-1
connection: x-mine, close
x-mine: goes
proxy-authorization: goes
keep-alive: goes
accept-encoding: gzip, br
content-type: application/json
content-length: 2

{}`).StatusCode)
		r := <-got
		encoding := "gzip, br"
		if path == "/v1/messages" {
			encoding = "identity"
		}
		assert.Equal(t, http.Header{
			"Authorization": {"Bearer " + key}, "X-Api-Key": {key}, "Anthropic-Beta": {"a,b", "c"}, "Anthropic-Version": {"2023-06-01"},
			"X-Twice": {"1", "2", "1"}, "X-Empty": {""}, "X-Spaces": {"in  the   middle"}, "Cookie": {"a=b; c=d"},
			"X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=10.0.0.1"}, "Via": {"1.1 somewhere"}, "Te": {"trailers"}, "Range": {"bytes=0-1"},
			"Accept-Encoding": {encoding}, "Content-Type": {"application/json"}, "Content-Length": {"2"},
		}, r.header, "nothing is added, and only what belongs to the connection taken away")
		assert.Equal(t, "{}", r.body)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func TestBodiesOfRequestsPass(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	tests := map[string]struct {
		body   string
		header []string
	}{
		"empty":             {},
		"ordinary":          {body: body("hello")},
		"compressed":        {body: gzipped(t, body("hello")), header: []string{"Content-Encoding", "gzip"}},
		"no JSON":           {body: "\x00\xff{["},
		"half of JSON":      {body: `{"messages":[{"role":"user","con`},
		"other JSON":        {body: `[1,2]`},
		"spaces":            {body: " {\n\t\"messages\" : [ ] , \"model\":\"x\" }\r\n "},
		"other spellings":   {body: ` {"zeta" : 1.50, "messages":[ {"content":"caf\u00e9 \/ é", "role":"user", "x":1} ],"model":"m"} `},
		"keys that repeat":  {body: `{"messages":[],"messages":[{"role":"user","content":"a"}]}`},
		"unknown fields":    {body: `{"zeta":1e400,"messages":[{"role":"user","content":"a\u0041\/","x":[]}],"b":-0.0}`},
		"unknown roles":     {body: `{"messages":[{"role":"oracle","content":"a"},{"role":7},{}]}`},
		"unknown blocks":    {body: `{"messages":[{"role":"user","content":[{"type":"hologram","data":{"a":[1]}},7,null,"x"]}]}`},
		"an empty system":   {body: `{"messages":[{"role":"user","content":"a"},{"role":"system","content":[]}]}`},
		"orphans":           {body: `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]},{"role":"assistant"}]}`},
		"bad unicode":       {body: `{"messages":[{"role":"user","content":"\ud800 ` + "\xff\xfe" + `"}]}`},
		"deep":              {body: `{"messages":` + strings.Repeat("[", mb)},
		"many messages":     {body: `{"messages":[` + strings.Repeat(`{"role":"user","content":""},`, 60_000) + `{"role":"user","content":""}]}`},
		"many MB":           {body: body(strings.Repeat("x", 10*mb))},
		"more than is read": {body: body(strings.Repeat("x", 64*mb))},
	}
	got := make(chan seen, 1)
	s, off := before(t, recorder(got)), before(t, recorder(got), func(o *gateway.Options) { o.Folding = gateway.FoldOff })
	response, err := off.post("/v1/messages", strings.NewReader(tests["other spellings"].body))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, tests["other spellings"].body, (<-got).body, "if nothing is folded at all")
	for name, tt := range tests {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			for _, chunked := range []bool{false, true} {
				if chunked && len(tt.body) > mb {
					continue
				}
				t.Run(fmt.Sprint(name, path, chunked), func(t *testing.T) {
					var from io.Reader = strings.NewReader(tt.body)
					if chunked {
						from = io.MultiReader(from) // of unknown length
					}
					response, err := s.post(path, from, tt.header...)
					require.NoError(t, err)
					require.Equal(t, http.StatusOK, response.StatusCode)
					require.NoError(t, response.Body.Close())
					r := <-got
					assert.True(t, r.body == tt.body, "%d bytes are %d", len(tt.body), len(r.body))
					if path == "/v1/messages" {
						m := s.meter()
						assert.EqualValues(t, len(tt.body), m.Given)
						assert.EqualValues(t, len(tt.body), m.Sent)
					}
					assert.NotContains(t, s.log.String(), "the gateway failed on")
				})
			}
		}
	}
}

// ofConnection are headers of a connection, not of an answer.
var ofConnection = []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Trailer"}

func TestAnswersPass(t *testing.T) {
	t.Parallel()
	refused := func(status int, reason, kind string, header ...string) string {
		text := `{"type":"error", "error":{"type":"` + kind + `","message":"as \u00e9 told"}}` + "\n"
		return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nrequest-id: req_1\r\n%sContent-Length: %d\r\n\r\n%s",
			status, reason, strings.Join(append(header, ""), "\r\n"), len(text), text)
	}
	tests := map[string]string{
		"an answer":        "HTTP/1.1 200 OK\r\nDate: yesterday\r\nX-A: 1\r\nx-a: 2\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"without a type":   "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
		"of the other way": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n",
		"in chunks": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"3\r\nda\n\r\n1;x=y\r\n\n\r\n0\r\n\r\n",
		"trailers": "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n" +
			"3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n",
		"HTML":               "HTTP/1.1 503 Gone Fishing\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<h1>x</h1",
		"nothing":            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
		"no content":         "HTTP/1.1 204 No Content\r\nrequest-id: a\r\n\r\n",
		"an odd type":        "HTTP/1.1 200 OK\r\nContent-Type: ;;/garbage\r\nContent-Length: 1\r\n\r\nx",
		"a stream that lies": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 21\r\n\r\ndata: {[\n\n\x00\xff\ndata: \n\n",
		"compressed": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: " +
			fmt.Sprintf("%d\r\n\r\n%s", len(gzipped(t, "{}")), gzipped(t, "{}")),
		"an old server":   "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
		"a redirect":      "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://elsewhere.example/v1/messages?a=b\r\nContent-Length: 0\r\n\r\n",
		"cookies":         "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nset-cookie: c=d; Path=/\r\nContent-Length: 1\r\n\r\nx",
		"not acceptable":  refused(400, "Bad Request", "invalid_request_error"),
		"not allowed":     refused(401, "Unauthorized", "authentication_error", "WWW-Authenticate: x"),
		"too large":       refused(413, "Payload Too Large", "request_too_large"),
		"too many":        refused(429, "Too Many Requests", "rate_limit_error", "retry-after: 17", "anthropic-ratelimit-requests-remaining: 0"),
		"a fault of it":   refused(500, "Internal Server Error", "api_error"),
		"overloaded":      refused(529, "Overloaded", "overloaded_error", "retry-after: 3", "x-should-retry: true"),
		"an odd status":   refused(799, "Odd", "x"),
		"an early answer": "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nDate: today\r\nContent-Type: x/y\r\nContent-Length: 1\r\n\r\nx",
	}
	for name, answer := range tests {
		for _, path := range []string{"/v1/messages", "/v1/models"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				s := beforeRaw(t, func(c net.Conn, _ *http.Request) { _, _ = io.WriteString(c, answer) })
				want := received(t, "http://"+s.upstream, "/v1/models")
				response, err := s.post(path, strings.NewReader(body("hi")))
				require.NoError(t, err)
				assert.Equal(t, want.status, response.StatusCode)
				assert.Equal(t, want.body, string(readAll(t, response)))
				assert.Equal(t, want.header, own(response.Header))
				assert.Equal(t, want.trailer, response.Trailer)
				if path == "/v1/messages" {
					assert.Equal(t, want.status, s.meter().Status)
				}
			})
		}
	}
}

// An answer is what a client has of one.
type answer struct {
	status          int
	header, trailer http.Header
	body            string
}

func received(t *testing.T, base, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader("{}"))
	require.NoError(t, err)
	response, err := client(t).Do(r)
	require.NoError(t, err)
	text := readAll(t, response)
	return answer{response.StatusCode, own(response.Header), response.Trailer, string(text)}
}

func own(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, name := range ofConnection {
		h.Del(name)
	}
	return h
}

func TestStreamsPassAtOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/messages", "/v1/other"} {
		for _, kind := range []string{"text/event-stream", "application/x-ndjson"} {
			t.Run(path+kind, func(t *testing.T) {
				t.Parallel()
				next := make(chan struct{})
				s := before(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					out := http.NewResponseController(w)
					for _, part := range []string{"", "event: one\n", "data: {}\n\n", "x"} { // the headers alone at first
						_, _ = io.WriteString(w, part)
						_ = out.Flush()
						<-next
					}
				})
				response, err := s.post(path, strings.NewReader(body("hi")))
				require.NoError(t, err, "the headers are there")
				defer response.Body.Close()
				for _, part := range []string{"event: one\n", "data: {}\n\n", "x"} {
					next <- struct{}{}
					got := make([]byte, len(part))
					_, err := io.ReadFull(response.Body, got)
					require.NoError(t, err)
					assert.Equal(t, part, string(got))
				}
				next <- struct{}{}
				assert.Empty(t, readAll(t, response))
			})
		}
	}
}

func TestRequestsStreamToo(t *testing.T) {
	t.Parallel()
	first := make(chan string, 1)
	s := before(t, func(_ http.ResponseWriter, r *http.Request) {
		part := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, part) // what is missing, the test sees
		first <- string(part)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		response, err := s.post("/v1/files", from)
		if err == nil {
			err = response.Body.Close()
		}
		done <- err
	}()
	_, err := io.WriteString(to, "first")
	require.NoError(t, err)
	assert.Equal(t, "first", <-first, "a file that is sent passes before its end")
	require.NoError(t, to.Close())
	require.NoError(t, <-done)
}

func TestContinueIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/messages", "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got := make(chan seen, 1)
			s := before(t, recorder(got))
			begun := time.Now()
			transport := &http.Transport{ExpectContinueTimeout: soon}
			t.Cleanup(transport.CloseIdleConnections)
			response, err := (&http.Client{Transport: transport}).Do(s.request(path, strings.NewReader(body("hi")), "Expect", "100-continue"))
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, body("hi"), (<-got).body)
			assert.Less(t, time.Since(begun), soon)
		})
	}
}
