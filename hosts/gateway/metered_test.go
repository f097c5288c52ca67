package gateway_test

import (
	"cmp"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/gateway"
	"flame/project"
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
	tests := map[string]struct {
		answer   string
		kind     string // of the answer; empty: a stream
		status   int
		told     int // status that is metered; 0: the same
		encoding string
		want     core.Usage // without its cost
		id       string
		first    bool
	}{
		"a stream": {
			answer: streamStart + streamText + streamEnd(`"output_tokens":77`) + streamStop,
			want:   used(10, 77, 200, 30), id: "msg_1", first: true,
		},
		"all is told at the end": {
			answer: streamStart + streamText + streamEnd(`"input_tokens":11,"cache_read_input_tokens":201,"cache_creation_input_tokens":31,"output_tokens":77`),
			want:   used(11, 77, 201, 31), id: "msg_1", first: true,
		},
		"nothing at the end": {answer: streamStart + streamText + streamStop, want: used(10, 1, 200, 30), id: "msg_1", first: true},
		"no content":         {answer: streamStart + streamEnd(`"output_tokens":2`) + streamStop, want: used(10, 2, 200, 30), id: "msg_1"},
		"an error in the midst": {
			answer: streamStart + streamText + `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error"}}` + "\n\n",
			want:   used(10, 1, 200, 30), id: "msg_1", first: true, told: 529,
		},
		"an error at once": {answer: `data: {"type":"error","error":{"type":"overloaded_error"}}` + "\n\n", told: 529},
		"in one piece": {
			kind:   "application/json; charset=utf-8",
			answer: `{"type":"message","id":"msg_2","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":3,"output_tokens":4}}`,
			want:   used(3, 4, 0, 0), id: "msg_2", first: true,
		},
		"a refusal":          {kind: "application/json", status: 429, answer: `{"type":"error","error":{"type":"rate_limit_error"}}`},
		"usage that is none": {kind: "application/json", answer: `{"type":"message","id":"msg_2","content":[],"usage":"much"}`, id: "msg_2"},
		"of absurd size": {
			kind: "application/json", answer: `{"type":"message","id":"msg_2","content":[],"usage":{"input_tokens":1e99,"output_tokens":-5}}`,
			id: "msg_2",
		},
		"impossible numbers": {
			kind: "application/json", answer: `{"type":"message","id":"msg_2","content":[],"usage":{"input_tokens":9000000000000000000,"output_tokens":3}}`,
			id: "msg_2",
		},
		"compressed":     {answer: streamStart, encoding: "gzip"},
		"something else": {kind: "text/html", status: 502, answer: "<html>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.kind == "" {
				tt.kind = "text/event-stream"
			}
			if tt.status == 0 {
				tt.status = http.StatusOK
			}
			s := before(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.Header()["Content-Encoding"] = append([]string(nil), strings.Fields(tt.encoding)...)
				w.WriteHeader(tt.status)
				text := tt.answer
				if tt.encoding != "" {
					text = gzipped(t, text)
				}
				_, _ = io.WriteString(w, text)
			})
			begun := time.Now()
			response, err := s.post("/v1/messages?beta=true", strings.NewReader(body("hi")))
			require.NoError(t, err)
			text := readAll(t, response)
			if tt.encoding != "" {
				plain, err := gzip.NewReader(strings.NewReader(string(text)))
				require.NoError(t, err)
				text, err = io.ReadAll(plain)
				require.NoError(t, err)
			}
			assert.Equal(t, tt.answer, string(text))
			m := s.meter()
			tt.want.CostUSD = m.Usage.CostUSD
			assert.Equal(t, tt.want, m.Usage)
			assert.Equal(t, tt.want.TokensIn > 0, m.Usage.CostUSD > 0)
			assert.Equal(t, cmp.Or(tt.told, tt.status), m.Status)
			assert.Equal(t, tt.id, m.Answer)
			assert.Equal(t, "main", m.Class)
			assert.Equal(t, int(tt.want.TokensIn+tt.want.CacheRead+tt.want.CacheWritten), m.Context)
			assert.EqualValues(t, len(body("hi")), m.Given)
			assert.EqualValues(t, len(body("hi")), m.Sent)
			assert.LessOrEqual(t, m.First, m.Took)
			assert.LessOrEqual(t, m.Took, core.Millis(time.Since(begun).Milliseconds()))
		})
	}
}

func used(in, out, read, written int64) core.Usage {
	return core.Usage{TokensIn: in, TokensOut: out, CacheRead: read, CacheWritten: written}
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
		o.Wire.Nameless, o.Name, p = true, "gateway-1", o.Project
	})
	ask := func(class string) gateway.Metered {
		response, err := s.post("/v1/messages", strings.NewReader(body("hi")), "X-Claude-Code-Session-Id", "other", "X-Claude-Code-Request-Class", class)
		require.NoError(t, err)
		readAll(t, response)
		return s.meter()
	}
	assert.True(t, ask("main").Logged, "it is measured before a hook names its session")
	hook := *p
	hook.Gateway = "gateway-1"
	require.NoError(t, hook.NoteBehind(t.Context(), project.Caller{Session: "s"}))
	assert.True(t, ask("subagent").Logged)
	assert.False(t, ask("auxiliary").Logged, "the host's log does not have it")
}
