package gateway_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/usage"
	"flame/tests/cases"
)

// Parts of streams.
const (
	streamStart = `data: {"type":"message_start","message":{"id":"msg_1","model":"claude-opus-5-5","usage":{"input_tokens":10,` +
		`"cache_read_input_tokens":200,"cache_creation_input_tokens":30,"output_tokens":1}}}` + "\n\n"
	streamText = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}` + "\n\n"
	streamStop = `data: {"type":"message_stop"}` + "\n\n"
)

func streamEnd(usage string) string {
	return `data: {"type":"message_delta","delta":{},"usage":{` + usage + `}}` + "\n\n"
}

func TestMeasurementsOfARequest(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Answer   string
		Kind     string // of the answer; empty: a stream
		Status   int
		Told     int // status that is metered; 0: the same
		Encoding string
		Want     core.Usage // without its cost
		ID       string
		First    bool
	}](t, "testdata/metered.yaml")
	parts := strings.NewReplacer("START", streamStart, "TEXT", streamText, "STOP", streamStop)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.Answer = parts.Replace(tt.Answer)
			if tt.Kind == "" {
				tt.Kind = "text/event-stream"
			}
			if tt.Status == 0 {
				tt.Status = http.StatusOK
			}
			s := before(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.Kind)
				w.Header()["Content-Encoding"] = append([]string(nil), strings.Fields(tt.Encoding)...)
				w.WriteHeader(tt.Status)
				text := tt.Answer
				if tt.Encoding != "" {
					text = gzipped(t, text)
				}
				_, _ = io.WriteString(w, text)
			})
			begun := time.Now()
			response, err := s.post("/v1/messages?beta=true", strings.NewReader(body("hi")))
			require.NoError(t, err)
			text := readAll(t, response)
			if tt.Encoding != "" {
				plain, err := gzip.NewReader(strings.NewReader(string(text)))
				require.NoError(t, err)
				text, err = io.ReadAll(plain)
				require.NoError(t, err)
			}
			assert.Equal(t, tt.Answer, string(text))
			m := s.meter()
			tt.Want.CostUSD = m.Usage.CostUSD
			assert.Equal(t, tt.Want, m.Usage)
			assert.Equal(t, tt.Want.TokensIn > 0, m.Usage.CostUSD > 0)
			assert.Equal(t, cmp.Or(tt.Told, tt.Status), m.Status)
			assert.Equal(t, tt.ID, m.Answer)
			assert.Equal(t, "main", m.Class)
			assert.Equal(t, int(tt.Want.TokensIn+tt.Want.CacheRead+tt.Want.CacheWritten), m.Context)
			assert.EqualValues(t, len(body("hi")), m.Given)
			assert.EqualValues(t, len(body("hi")), m.Sent)
			assert.LessOrEqual(t, m.First, m.Took)
			assert.LessOrEqual(t, m.Took, core.Millis(time.Since(begun).Milliseconds()))
		})
	}
}

// TestTheModelsWindowIsMeasuredIfKnown reads it from a header of the request, or
// from the API's refusal.
func TestTheModelsWindowIsMeasuredIfKnown(t *testing.T) {
	t.Parallel()
	refusal := func(says string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + says + `"}}`
	}
	answer := `{"type":"message","id":"msg_2","model":"claude-opus-5-5","content":[],"usage":{"input_tokens":3}}`
	const beta = "oauth-2025-04-20,context-1m-2025-08-07"
	for name, tt := range map[string]struct {
		header, answer, class string
		status, want          int
	}{
		"nothing":                   {answer: answer, status: 200},
		"a header":                  {header: beta, answer: answer, status: 200, want: 1_000_000},
		"a header that was refused": {header: beta, answer: refusal("The long context beta is not available"), status: 400},
		"a request beside":          {header: beta, answer: answer, status: 200, class: "auxiliary"},
		"too many tokens":           {answer: refusal("prompt is too long: 210000 tokens > 200000 maximum"), status: 400, want: 200_000},
		"too many with an answer": {
			answer: refusal("input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000"), status: 400, want: 200_000,
		},
		"another number": {answer: refusal("messages: 100001 > 100000"), status: 400},
		"another error with these words": {
			answer: `{"type":"error","error":{"type":"api_error","message":"prompt is too long: 2100 tokens > 2000 maximum"}}`, status: 500,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := before(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.answer)
			})
			response, err := s.post("/v1/messages", strings.NewReader(body("hi")),
				"Anthropic-Beta", tt.header, "X-Claude-Code-Request-Class", cmp.Or(tt.class, "main"))
			require.NoError(t, err)
			readAll(t, response)
			assert.Equal(t, tt.want, s.meter().Window)
		})
	}
}

func TestTimesOfAnAnswer(t *testing.T) {
	t.Parallel()
	const thinks = 60 * time.Millisecond // a time that really passes: what is measured is time
	s := before(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{streamStart, streamText, streamEnd(`"output_tokens":5`)} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			<-time.After(thinks)
		}
	})
	response, err := s.post("/v1/messages", strings.NewReader(body("hi")))
	require.NoError(t, err)
	readAll(t, response)
	m := s.meter()
	assert.GreaterOrEqual(t, m.First, core.Millis(60), "the first words, not the first bytes")
	assert.GreaterOrEqual(t, m.Took, core.Millis(180-2), "all of it")
	assert.LessOrEqual(t, m.First, m.Took)
}

func TestTheCallerOfARequest(t *testing.T) {
	t.Parallel()
	s := before(t, func(http.ResponseWriter, *http.Request) {})
	response, err := s.post("/v1/messages", strings.NewReader(body("hi")), "X-Claude-Code-Session-Id", "")
	require.NoError(t, err)
	readAll(t, response)
	response, err = s.post("/v1/messages", strings.NewReader(body("hi")), "X-Claude-Code-Request-Class", "auxiliary")
	require.NoError(t, err)
	readAll(t, response)
	assert.Equal(t, "auxiliary", s.meter().Class, "of the other, which says no session, nothing is told")
	assert.Empty(t, s.metered)
}

func TestASessionThatRequestsDoNotName(t *testing.T) {
	t.Parallel()
	var p *project.Project
	s := before(t, func(http.ResponseWriter, *http.Request) {}, func(o *gateway.Options) {
		o.Wire.NoSessionID, o.Name, p = true, "gateway-1", o.Project
	})
	ask := func(class string) usage.MeteredRequest {
		response, err := s.post("/v1/messages", strings.NewReader(body("hi")), "X-Claude-Code-Session-Id", "other", "X-Claude-Code-Request-Class", class)
		require.NoError(t, err)
		readAll(t, response)
		return s.meter()
	}
	assert.True(t, ask("main").Logged, "it is measured before a hook names its session")
	hook := *p
	hook.Gateway = "gateway-1"
	require.NoError(t, gateway.NoteBehind(t.Context(), &hook, project.Caller{Session: "s"}))
	assert.True(t, ask("subagent").Logged)
	assert.False(t, ask("auxiliary").Logged, "the host's log does not have it")
}

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
