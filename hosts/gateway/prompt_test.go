package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gateway"
	"flame/tests/model"
	"flame/tests/model/rules"
	"flame/tests/projecttest"
)

// forward sends a request on to a base URL.
func forward(t *testing.T, base string, r *http.Request) *http.Response {
	on, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.URL.RequestURI(), r.Body)
	require.NoError(t, err)
	on.Header = r.Header
	response, err := httpClient.Do(on)
	require.NoError(t, err)
	return response
}

// hasty returns the URL of a server before another, whose answers end with the end of the
// message and not with that of the other's.
func hasty(t *testing.T, base string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := forward(t, base, r)
		t.Cleanup(func() { _ = response.Body.Close() })
		w.WriteHeader(response.StatusCode)
		lines := bufio.NewReader(response.Body)
		for {
			line, err := lines.ReadString('\n')
			_, _ = io.WriteString(w, line)
			if err != nil || strings.HasPrefix(line, "data:") && strings.Contains(line, "message_stop") {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// lingering returns the URL of a server before another, whose answers end once the next
// request has come.
func lingering(t *testing.T, base string) string {
	var mu sync.Mutex
	next := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		close(next)
		next = make(chan struct{})
		wait := next
		mu.Unlock()
		response := forward(t, base, r)
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
		_ = http.NewResponseController(w).Flush()
		if response.StatusCode != http.StatusOK {
			return
		}
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestAnswersCountFromTheirLastWord checks that the next request may come before the
// connection of the answer is at its end.
func TestAnswersCountFromTheirLastWord(t *testing.T) {
	t.Parallel()
	play := func(t *testing.T, between func(*testing.T, string) string) rules.Stats {
		c := newTalk(t, push("one"), read("a"), pop("did one"), push("two"), read("b"), read("c"), read("d"), pop("did two"),
			model.Turn{Thinking: "end", Text: "all done"})
		upstream, err := url.Parse(between(t, c.model.URL))
		require.NoError(t, err)
		c.start(gateway.Options{Folding: gateway.FoldOn, Upstream: upstream, Patience: time.Minute})
		c.url = hasty(t, c.url)
		c.f.Prompt(projecttest.Host("s"), "p1", "work")
		c.say("work")
		c.round()
		return c.judge.Stats()
	}
	want := play(t, func(_ *testing.T, base string) string { return base })
	assert.Positive(t, want.Thinking)
	assert.Equal(t, want, play(t, lingering))
}

func TestRequestsAtOnceDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		c := newTalk(t, push("one"), model.Turn{Text: "one"})
		c.f.Prompt(projecttest.Host("s"), "p1", "work")
		c.say("work")
		if known {
			c.round()
			c.say("more")
		}
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
		t.Cleanup(upstream.Close)
		base, err := url.Parse(upstream.URL)
		require.NoError(t, err)
		c.start(gateway.Options{Folding: gateway.FoldOn, Upstream: base, Patience: 2 * time.Second})
		c.faults.set(locked)
		begun := time.Now()
		var all sync.WaitGroup
		body := c.body()
		for range 20 {
			all.Go(func() { _ = c.post("/v1/messages", body, nil).Body.Close() })
		}
		all.Wait()
		assert.Less(t, time.Since(begun), 30*time.Second, "one after the other they would have waited for 40 seconds")
		c.faults.set(fine)
	}
}
