package gateway_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/cases"
)

func TestOnlyTheHostIsServed(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Request string
		Status  int
	}](t, "testdata/private.yaml")
	got := make(chan seen, 1)
	s := before(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		recorder(got)(w, r)
	})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := s.raw(strings.ReplaceAll(tt.Request, "SECRET", secret) + "X-Api-Key: " + key + "\nContent-Length: 0\nConnection: close\n\n")
			assert.Equal(t, tt.Status, response.StatusCode)
			for name := range response.Header {
				assert.NotContains(t, name, "Access-Control")
			}
			text := string(readAll(t, response))
			if tt.Status == http.StatusOK {
				<-got
				return
			}
			assert.Empty(t, got, "the redirect is not followed")
			assert.NotContains(t, text, secret)
			if tt.Status == http.StatusNotFound {
				assert.Equal(t, "404 page not found\n", text)
			}
		})
	}
}

func TestRequestsOfTwoLengths(t *testing.T) {
	t.Parallel()
	const hidden = "GET /SECRET/v1/hidden HTTP/1.1\nHost: 127.0.0.1\n\n"
	tests := map[string]struct {
		head, body string
		bodies     []string // that arrive
	}{
		"two lengths":              {head: "Content-Length: 2\nContent-Length: 60\n", body: "{}" + hidden},
		"a list of lengths":        {head: "Content-Length: 2, 60\n", body: "{}" + hidden},
		"a length that is none":    {head: "Content-Length: +2\n", body: "{}" + hidden},
		"below zero":               {head: "Content-Length: -1\n", body: "{}" + hidden},
		"an unknown coding":        {head: "Transfer-Encoding: chunked, identity\n", body: "2\n{}\n0\n\n" + hidden},
		"a coding in disguise":     {head: "Transfer-Encoding: xchunked\n", body: "2\n{}\n0\n\n" + hidden},
		"a space before the colon": {head: "Transfer-Encoding : chunked\n", body: "2\n{}\n0\n\n" + hidden},
		"a broken chunk":           {head: "Transfer-Encoding: chunked\n", body: "z\n{}\n0\n\n" + hidden},
		"a length and chunks":      {head: "Content-Length: 3\nTransfer-Encoding: chunked\n", body: "2\n{}\n0\n\n", bodies: []string{"{}"}},
	}
	for name, tt := range tests {
		for _, path := range []string{"/v1/messages", "/v1/other"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				got := make(chan seen, 10)
				s := before(t, recorder(got))
				conn, err := net.Dial("tcp", s.addr)
				require.NoError(t, err)
				defer conn.Close()
				request := "POST /SECRET" + path + " HTTP/1.1\nHost: 127.0.0.1\nConnection: close\n" + tt.head + "\n" + tt.body
				_, err = io.WriteString(conn, strings.NewReplacer("\n", "\r\n", "SECRET", secret).Replace(request))
				require.NoError(t, err)
				_, _ = io.Copy(io.Discard, conn) // it is closed, in an orderly way or not
				var bodies []string
				for len(got) > 0 {
					if r := <-got; tt.bodies != nil || r.uri != "/v1/other" {
						bodies = append(bodies, r.body)
					}
				}
				assert.Equal(t, tt.bodies, bodies)
			})
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the key must not go there") }))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := before(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		for _, path := range []string{"/v1/messages", "/v1/models"} {
			response, err := s.post(path, strings.NewReader(body(prompt)))
			require.NoError(t, err)
			assert.Equal(t, status, response.StatusCode)
			assert.Equal(t, elsewhere.URL, response.Header.Get("Location"))
			require.NoError(t, response.Body.Close())
		}
	}
}

// answers are what an upstream may say, each with words that are private.
var privateAnswers = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Private: " + prompt + "\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"" + prompt + "\"}}\n\n",
	"HTTP/1.1 400 Bad " + prompt + "\r\nContent-Length: 2\r\n\r\n{}", prompt, "HTTP/1.1 200 OK\r\n" + prompt + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + prompt, "HTTP/1.1 " + prompt + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: " + prompt + "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + prompt + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + prompt + "\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: " + prompt + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" + prompt,
}

func TestNoContentIsStored(t *testing.T) {
	t.Parallel()
	next := make(chan string, 1)
	s := beforeRaw(t, func(c net.Conn, _ *http.Request) { _, _ = io.WriteString(c, <-next) })
	for i, answer := range privateAnswers {
		for _, path := range []string{"/v1/messages?q=" + prompt, "/v1/" + prompt} {
			next <- answer
			for len(next) > 0 { // again, if the gateway used a connection that the upstream was about to close
				response, err := s.post(path, strings.NewReader(body(fmt.Sprint(prompt, i))), "Authorization", "Bearer "+key)
				if err == nil {
					_, _ = io.Copy(io.Discard, response.Body) // some are cut
					require.NoError(t, response.Body.Close())
				}
			}
		}
	}
	for _, request := range []string{
		"GET /" + secret + "/" + prompt + " HTTP/9.9\n\n", prompt + "\n\n", "GET /" + prompt + " HTTP/1.1\nHost: " + prompt + "\n\n",
		"PRI * HTTP/2.0\n\n" + prompt + prompt, "POST /" + secret + "/v1/messages HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\n" + prompt + "\n",
	} {
		conn, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		_, err = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
		require.NoError(t, err)
		_ = conn.(*net.TCPConn).CloseWrite() // it may have hung up already
		_, _ = io.Copy(io.Discard, conn)     // whatever it says
		require.NoError(t, conn.Close())
	}
	s.stop()
	kept, log := files(t, filepath.Dir(s.data)), s.log.String()
	assert.Contains(t, kept, "SQLite format 3", "the test has searched the store")
	assert.Contains(t, log, "WARN", "the test has searched a log")
	for _, private := range []string{prompt, key, secret} {
		assert.NotContains(t, kept, private)
		assert.NotContains(t, log, private)
	}
}

// dumped is the variable that makes a run of this test a process to be looked at.
const dumped = "FLAME_TEST_GATEWAY_DUMPED"

// TestNoContentIsInDumps ends a gateway in the ways that print what it was at.
func TestNoContentIsInDumps(t *testing.T) {
	if how := os.Getenv(dumped); how != "" {
		serveToBeDumped(t, how)
		return
	}
	t.Parallel()
	for how, words := range map[string]string{"signal": "SIGQUIT: quit", "panic": "panic: ", "unasked": "answered"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			asked, next := make(chan struct{}), make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				close(asked)
				if how == "unasked" {
					conn, out, err := http.NewResponseController(w).Hijack()
					if assert.NoError(t, err) {
						_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + strings.Repeat(prompt, 10))
						_ = out.Flush()
						<-next
						_ = conn.Close()
					}
					return
				}
				<-next
			}))
			t.Cleanup(upstream.Close)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoContentIsInDumps$")
			cmd.Env = append(os.Environ(), dumped+"="+how, "GOTRACEBACK=system", "UPSTREAM="+upstream.URL)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(stdout)
			base, err := lines.ReadString('\n')
			require.NoError(t, err)
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				r, _ := http.NewRequest(http.MethodPost, strings.TrimSpace(base)+"/v1/messages", strings.NewReader(body(prompt))) // it is an URL
				r.Header.Set("X-Claude-Code-Session-Id", "s")
				r.Header.Set("Authorization", "Bearer "+key)
				if response, err := httpClient.Do(r); err == nil {
					_ = response.Body.Close()
				}
			}()
			<-asked
			switch how {
			case "signal":
				require.NoError(t, cmd.Process.Signal(syscall.SIGQUIT))
			case "unasked":
				<-answered
			}
			require.NoError(t, stdin.Close()) // it may end
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			_ = cmd.Wait() // it fails, as it is to
			close(next)
			<-answered
			out := stderr.String() + string(rest)
			assert.Contains(t, out, words)
			for _, private := range []string{prompt, key, secret} {
				assert.NotContains(t, out, private)
			}
		})
	}
}

// serveToBeDumped serves a gateway until the input ends.
func serveToBeDumped(t *testing.T, how string) {
	upstream, err := url.Parse(os.Getenv("UPSTREAM"))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := newStand(t, upstream.String())
	_ = l.Close()
	fmt.Printf("http://%s/%s\n", s.addr, secret)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if how == "panic" {
		done := make(chan struct{})
		go func() { panic(errors.New("of another goroutine")) }()
		<-done
	}
	fmt.Println("answered")
}
