package transport

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// ask sends one request, with the token; header holds names and values in turn, of
// a header that comes twice a line each.
func ask(t *testing.T, method, url, body string, header ...string) *http.Response {
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header[http.CanonicalHeaderKey(header[i])] = strings.Split(header[i+1], "\n")
	}
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestHTTPRefusals(t *testing.T) {
	web, _ := startHTTP(t, newRig(), HTTPOptions{})
	session := startStreamable(t, web).session
	own, other := []string{sessionHeader, session}, []string{sessionHeader, "mcp-session-7"}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, tt := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		says               string
	}{
		"no session":                      {method: "POST", path: "/mcp", body: ping, status: 400, says: "Mcp-Session-Id"},
		"a made-up session":               {method: "POST", path: "/mcp", body: ping, header: other, status: 404, says: "initialize"},
		"a made-up session, listening":    {method: "GET", path: "/mcp", header: other, status: 404, says: "initialize"},
		"listening without a session":     {method: "GET", path: "/mcp", status: 400, says: "Mcp-Session-Id"},
		"ending a made-up session":        {method: "DELETE", path: "/mcp", header: []string{sessionHeader, "x"}, status: 404, says: "initialize"},
		"posting to no stream of events":  {method: "POST", path: "/message?sessionId=x", body: ping, status: 404, says: "/sse"},
		"a streamable session on the old": {method: "POST", path: "/message?sessionId=" + session, body: ping, status: 404, says: "/sse"},
		"garbage":                         {method: "POST", path: "/mcp", body: "{", header: own, status: 400, says: "not JSON"},
		"a byte order mark":               {method: "POST", path: "/mcp", body: "\ufeff" + ping, header: own, status: 200, says: `"result"`},
		"a batch":                         {method: "POST", path: "/mcp", body: "[" + ping + "]", header: own, status: 400, says: "batches"},
		"too large": {
			method: "POST", path: "/mcp", body: `{"x":"` + strings.Repeat("x", maxMessage) + `"}`,
			status: 413, says: strconv.Itoa(maxMessage),
		},
		"a method that is not there":      {method: "PUT", path: "/mcp", status: 405},
		"a preflight":                     {method: "OPTIONS", path: "/mcp", header: []string{"Origin", web.URL}, status: 405},
		"posting to the stream of events": {method: "POST", path: "/sse", body: ping, status: 405},
		"another path":                    {method: "GET", path: "/", status: 404, says: "/mcp"},
		"discovery of sessionless servers": {
			method: "POST", path: "/mcp", body: discover, header: []string{"MCP-Protocol-Version", "2026-07-28"},
			status: 400, says: `"id":"probe","error":{"code":-32022`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			response := ask(t, tt.method, web.URL+tt.path, tt.body, tt.header...)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.status, response.StatusCode, string(body))
			assert.Contains(t, string(body), tt.says)
		})
	}
}

// assertNoCORS checks that a response lets no page of another origin read it.
func assertNoCORS(t *testing.T, response *http.Response) {
	for name := range response.Header {
		assert.NotContains(t, name, "Access-Control")
	}
}

func TestHTTPTakesMessagesOfItsOwnTypeAndVersions(t *testing.T) {
	tests := map[string]struct {
		header []string
		status int
	}{
		"a program on this machine":    {status: 200},
		"a rebound name":               {header: []string{"Host", "evil.example.com"}, status: 403},
		"a page of another origin":     {header: []string{"Origin", "https://evil.example.com"}, status: 403},
		"a form":                       {header: []string{"Content-Type", "text/plain"}, status: 415},
		"no type":                      {header: []string{"Content-Type", ""}, status: 415},
		"a type that only looks right": {header: []string{"Content-Type", "application/jsonp"}, status: 415},
		"a type with parameters":       {header: []string{"Content-Type", "application/json; charset=utf-8"}, status: 200},
		"an old protocol version":      {header: []string{"MCP-Protocol-Version", "2025-03-26"}, status: 200},
		"an unknown protocol version":  {header: []string{"MCP-Protocol-Version", "1999-01-01"}, status: 400},
		"a version without sessions":   {header: []string{"MCP-Protocol-Version", "2026-07-28"}, status: 400},
	}
	web, _ := startHTTP(t, newRig(), HTTPOptions{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := ask(t, http.MethodPost, web.URL+"/mcp", initialize, tt.header...)
			assert.Equal(t, tt.status, response.StatusCode)
			assertNoCORS(t, response)
			events := ask(t, http.MethodGet, web.URL+"/sse", "", tt.header...)
			assertNoCORS(t, events)
			if tt.status == http.StatusForbidden {
				assert.Equal(t, tt.status, events.StatusCode)
			}
		})
	}
}

// What a token looks like is the guard's business; here each path has it asked.
func TestHTTPNeedsTheTokenOnEveryPath(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		web, _ := startHTTP(t, newRig(), HTTPOptions{Guard: guarding(t, addr), Metrics: metrics})
		for _, path := range []string{"/mcp", "/sse", "/message", "/metrics", "/elsewhere", "/register"} {
			for _, method := range []string{http.MethodPut, http.MethodOptions} {
				for given, known := range map[string]bool{"": false, authorization[:len(authorization)-1]: false, authorization: true} {
					response := ask(t, method, web.URL+path, "", "Authorization", given)
					assertNoCORS(t, response)
					assert.Equal(t, known, response.StatusCode != http.StatusUnauthorized, "%s with %q", path, given)
				}
			}
		}
	}
}

func TestHTTPSessions(t *testing.T) {
	t.Run("each client has one, and tools do not know the id that lets it use that", func(t *testing.T) {
		web, _ := startHTTP(t, newRig(), HTTPOptions{})
		p := startStreamable(t, web)
		assert.NotEqual(t, p.session, startStreamable(t, web).session)
		p.send(t, call(1, "who", ""))
		told := (<-p.got()).text()
		assert.NotEmpty(t, told)
		assert.NotEqual(t, p.session, told)
	})
	t.Run("one that is deleted is gone, and its streams with it", func(t *testing.T) {
		web, _ := startHTTP(t, newRig(), HTTPOptions{})
		p := startStreamable(t, web)
		stream := ask(t, http.MethodGet, p.url, "", sessionHeader, p.session)
		require.Equal(t, http.StatusOK, stream.StatusCode)
		assert.Equal(t, http.StatusNoContent, ask(t, http.MethodDelete, p.url, "", sessionHeader, p.session).StatusCode)
		_, err := io.ReadAll(stream.Body)
		require.NoError(t, err, "the stream ends in order")
		assert.Equal(t, http.StatusNotFound, ask(t, http.MethodPost, p.url, initialized, sessionHeader, p.session).StatusCode)
	})
	t.Run("an unused session ends", func(t *testing.T) {
		var now atomic.Int64
		web, _ := startHTTP(t, newRig(), HTTPOptions{IdleTTL: time.Hour, Now: func() time.Time { return time.UnixMilli(now.Load()) }})
		p := startStreamable(t, web)
		use := func() int {
			return ask(t, http.MethodPost, p.url, initialized, sessionHeader, p.session).StatusCode
		}
		now.Add(time.Hour.Milliseconds())
		assert.Equal(t, http.StatusAccepted, use())
		now.Add(time.Hour.Milliseconds())
		assert.Equal(t, http.StatusAccepted, use(), "each use counts anew")
		now.Add(time.Hour.Milliseconds() + 1)
		assert.Equal(t, http.StatusNotFound, use())
	})
	t.Run("one with a stream is in use", func(t *testing.T) {
		var now atomic.Int64
		web, _ := startHTTP(t, newRig(), HTTPOptions{IdleTTL: time.Hour, Now: func() time.Time { return time.UnixMilli(now.Load()) }})
		p := startStreamable(t, web)
		stream := ask(t, http.MethodGet, p.url, "", sessionHeader, p.session)
		require.Equal(t, http.StatusOK, stream.StatusCode)
		now.Add(24 * time.Hour.Milliseconds())
		assert.Equal(t, http.StatusAccepted, ask(t, http.MethodPost, p.url, initialized, sessionHeader, p.session).StatusCode)
	})
}

func TestHTTPKeepsTheOrderOfWrites(t *testing.T) {
	r := newRig()
	web, handler := startHTTP(t, r, HTTPOptions{})
	p := startStreamable(t, web)
	session, ok := handler.sessions.use(p.session, false)
	require.True(t, ok)
	newest := func() <-chan struct{} {
		session.order.mu.Lock()
		defer session.order.mu.Unlock()
		return session.order.last
	}
	p.send(t, call(1, "hold_write", ""))
	<-r.holding
	var sent []string
	for i := range 30 {
		before := newest()
		sent = append(sent, strconv.Itoa(i))
		p.send(t, call(2+i, "note", sent[i]))
		require.Eventually(t, func() bool { return newest() != before }, time.Minute, time.Millisecond, "the call arrives")
	}
	close(r.release)
	for range len(sent) + 1 {
		<-p.got()
	}
	assert.Equal(t, sent, r.noted())
}

func TestHTTPFinishesACallWhoseClientLeaves(t *testing.T) {
	r := newRig()
	web, _ := startHTTP(t, r, HTTPOptions{})
	p := startStreamable(t, web)
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := p.post(leaving, call(1, "hold_write", ""))
		left <- err
	}()
	<-r.holding
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	p.send(t, call(2, "note", "behind"))
	close(r.release)
	assert.Equal(t, "noted", (<-p.got()).text())
}

func TestHTTPStreamOfNotifications(t *testing.T) {
	r := newRig()
	web, _ := startHTTP(t, r, HTTPOptions{KeepAlive: 10 * time.Millisecond})
	p := startStreamable(t, web)
	stream := ask(t, http.MethodGet, p.url, "", sessionHeader, p.session)
	assert.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	lines := bufio.NewScanner(stream.Body)
	wait := func(part string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		require.Fail(t, "the stream ended without "+part)
	}
	wait(": alive")
	r.srv.DeleteTools("who")
	wait("notifications/tools/list_changed")
	behaviours["progress arrives before the result it belongs to"](t, r, p) // with its answer all the same
}

func TestServeHTTPEndsInOrder(t *testing.T) {
	r := newRig()
	ctx, stop := context.WithCancel(t.Context())
	listening := make(chan net.Addr, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- ServeHTTP(ctx, r.srv, HTTPOptions{
			Guard: guarding(t, "127.0.0.1:0"), Writes: writing, Logger: slog.New(slog.DiscardHandler),
			Listening: func(addr net.Addr) { listening <- addr },
		})
	}()
	url := "http://" + (<-listening).String()
	web := &httptest.Server{URL: url}
	p, old := startStreamable(t, web), startSSE(t, web)
	stream := ask(t, http.MethodGet, p.url, "", sessionHeader, p.session)
	p.send(t, call(1, "hold", ""))
	old.send(t, call(2, "hold", ""))
	<-r.holding
	<-r.holding
	stop()
	require.Eventually(t, func() bool {
		response, err := p.post(t.Context(), initialize)
		if err != nil {
			return true
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, time.Millisecond, "nothing new is taken")
	close(r.release)
	assert.Equal(t, "released", (<-p.got()).text(), "what was in work is answered")
	assert.Equal(t, "released", (<-old.got()).text())
	_, err := io.ReadAll(stream.Body)
	require.NoError(t, err)
	assert.NoError(t, <-ended)
}

func TestServeHTTPReportsAnAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = ServeHTTP(t.Context(), newRig().srv, HTTPOptions{Guard: guarding(t, taken.Addr().String())})
	require.ErrorIs(t, err, core.ErrUnavailable)
	assert.ErrorContains(t, err, "address already in use")
}
