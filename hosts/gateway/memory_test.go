package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNothingPilesUp is not parallel: it looks at the memory of the whole process.
func TestNothingPilesUp(t *testing.T) {
	const requests, size = 60, 500_000
	s := before(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streamStart+streamText+streamEnd(`"output_tokens":5`)+streamStop)
	})
	host := client(t)
	ask := func(i int) {
		text := body(fmt.Sprint(i, strings.Repeat("x", size)))
		session := fmt.Sprint("session-", i%20)
		response, err := host.Do(s.request("/v1/messages", strings.NewReader(text), "X-Claude-Code-Session-Id", session))
		require.NoError(t, err)
		readAll(t, response)
		assert.EqualValues(t, 5, s.meter().Usage.TokensOut)
	}
	for i := range requests / 2 {
		ask(i)
	}
	begun := heap()
	for i := range requests {
		ask(i)
	}
	assert.Less(t, heap()-begun, int64(requests*size/20), "bytes more than after half as many")
}

// heap returns the bytes that are in use.
func heap() int64 {
	for range 3 {
		runtime.GC() // pools are emptied in two
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}
