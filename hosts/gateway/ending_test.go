package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
