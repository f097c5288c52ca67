package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestARequestUnderWayAtTheEndIsStored(t *testing.T) {
	t.Parallel()
	var p *project.Project
	s := newStand(t, "http://127.0.0.1:1", func(o *gateway.Options) { p, o.Grace, o.Transport = o.Project, time.Millisecond, slow{} })
	response, err := s.post("/v1/messages", strings.NewReader(body("hi")))
	require.NoError(t, err)
	defer response.Body.Close()
	s.stop()
	assert.Len(t, s.metered, 1)
	events, err := view.Events(context.Background(), p, project.EventQuery{Kinds: []string{core.RequestAnswered}, Limit: 10})
	require.NoError(t, err)
	assert.Len(t, events, 1)
}

// slow answers without end, and takes a while to notice that nobody listens.
type slow struct{}

// RoundTrip answers with the beginning of a stream.
func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	rest, end := io.Pipe()
	context.AfterFunc(r.Context(), func() {
		<-time.After(50 * time.Millisecond) // a time that really passes: the gateway waits for it
		_ = end.CloseWithError(r.Context().Err())
	})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(streamStart), rest), rest},
	}, nil
}

// Flame may not be set up in the host.
func TestRequestsOfASessionThatNobodyTellsOfAreStoredWhenTheyHaveWaited(t *testing.T) {
	t.Parallel()
	var p *project.Project
	var clock, answers atomic.Int64
	s := before(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Replace(streamStart, "msg_1", fmt.Sprint("msg_", answers.Add(1)), 1)+streamStop)
	}, func(o *gateway.Options) {
		clock.Store(int64(o.Project.Now()))
		o.Project.Now, p = func() core.Millis { return core.Millis(clock.Load()) }, o.Project
	})
	ask := func() {
		response, err := s.post("/v1/messages", strings.NewReader(body("hi")))
		require.NoError(t, err)
		readAll(t, response)
	}
	stored := func() int {
		events, err := view.Events(t.Context(), p, project.EventQuery{Kinds: []string{core.RequestAnswered}, Limit: 10})
		require.NoError(t, err)
		return len(events)
	}
	ask()
	ask()
	s.meter()
	s.meter()
	assert.Zero(t, stored(), "the session may still become known")
	clock.Add(31_000)
	ask()
	require.Eventually(t, func() bool { return stored() >= 2 }, soon, 5*time.Millisecond, "the third may have to wait itself")
}

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

func TestAHookSaysWhichSessionIsBehindAGateway(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	behind := func(name string) string {
		session, err := gateway.GatewaySession(f.Ctx, f.Project, name)
		require.NoError(t, err)
		return session
	}
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "none"}))
	assert.Empty(t, behind(""), "no gateway is around the hook")

	f.Gateway = "one"
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "s"}))
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "child", Parent: "s"}))
	assert.Equal(t, "s", behind("one"))
	assert.Empty(t, behind("two"))
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "next"}))
	assert.Equal(t, "next", behind("one"), "the user began another session in the same process")

	f.Clock += 8 * project.Day
	f.Gateway = "two"
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "later"}))
	assert.Empty(t, behind("one"), "a gateway without a report for a week is forgotten")
}
