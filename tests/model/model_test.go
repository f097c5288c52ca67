package model_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// post sends body as a client does, with headers in pairs, and returns the answer.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Api-Key", "secret")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := httpClient.Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// An api is one of the two, with its differences.
type api struct {
	path, tools, result string
	wantCall            string // part of an answer that calls prefix_push with {"goal": "x"}
	wantStream          string
}

var apis = map[string]api{
	"Anthropic": {
		path: "/v1/messages", tools: `[{"name": "prefix_push"}]`,
		result:     `{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "frame-1"}]}]}`,
		wantCall:   `"name":"prefix_push"`,
		wantStream: `event: message_stop`,
	},
	"OpenAI": {
		path: "/v1/chat/completions", tools: `[{"function": {"name": "prefix_push"}}]`,
		result:     `{"role": "tool", "content": "frame-1"}`,
		wantCall:   `"name":"prefix_push"`,
		wantStream: `data: [DONE]`,
	},
}

func TestTurnsAreServedInOrder(t *testing.T) {
	t.Parallel()
	for name, a := range apis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := model.Start(t, model.Script{
				{Name: "other", Match: regexp.MustCompile("never")},
				{Name: "main", Match: regexp.MustCompile("begin"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{{Name: "push", Input: map[string]any{"goal": "x"}}}},
					{From: func(r model.Request) model.Turn { return model.Turn{Text: "made " + r.LastResult()} }},
				}},
			})
			body := func(messages, stream string) string {
				return `{"model": "m", "stream": ` + stream + `, "tools": ` + a.tools +
					`, "messages": [{"role": "user", "content": "begin"}` + messages + `]}`
			}
			_, first := post(t, server.URL+a.path, body("", "false"))
			assert.Contains(t, first, a.wantCall)
			assert.True(t, json.Valid([]byte(first)))
			_, second := post(t, server.URL+a.path, body(", "+a.result, "true"))
			assert.Contains(t, second, "made frame-1")
			assert.Contains(t, second, a.wantStream)
			_, third := post(t, server.URL+a.path, body("", "false"))
			assert.Contains(t, third, "done", "after the last turn")

			seen := server.By("main")
			require.Len(t, seen, 3)
			assert.Equal(t, []string{"prefix_push"}, seen[0].Tools)
			assert.Equal(t, []int{0, 1, 2}, []int{seen[0].Turn, seen[1].Turn, seen[2].Turn})
			assert.Empty(t, seen[0].Headers.Get("X-Api-Key"), "credentials are not recorded")
		})
	}
}

func TestSessionsAreCountedApart(t *testing.T) {
	t.Parallel()
	server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{{Text: "one"}, {Text: "two"}}}})
	const body = `{"messages": [{"role": "user", "content": "hi"}]}`
	for _, want := range []string{"one", "two", "done"} {
		for _, session := range []string{"a", "b"} {
			_, got := post(t, server.URL+"/v1/messages", body, "X-Claude-Code-Session-Id", session)
			assert.Contains(t, got, want, "session %s", session)
		}
	}
	server.Play(model.Script{{Name: "main", Turns: []model.Turn{{Text: "anew"}}}})
	_, got := post(t, server.URL+"/v1/messages", body, "X-Claude-Code-Session-Id", "a")
	assert.Contains(t, got, "anew")
}

func TestRequestsBesideTheConversationDisturbNoActor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		kind model.Kind
		want string
	}{
		"a title": {
			body: `{"messages": [{"role": "system", "content": "You are a title generator."}, {"role": "user", "content": "hi"}]}`,
			kind: model.Title, want: "A title",
		},
		"a compaction": {
			body: `{"messages": [{"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. Summarize."}]}`,
			kind: model.Compaction, want: "A summary",
		},
		"the conversation": {
			body: `{"messages": [{"role": "user", "content": "hi"}]}`,
			kind: model.Work, want: "worked",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{{Text: "worked"}}}})
			_, got := post(t, server.URL+"/v1/chat/completions", tt.body)
			assert.Contains(t, got, tt.want)
			assert.Equal(t, tt.kind, server.Requests()[0].Kind)
		})
	}
}

func TestFailuresAndDelays(t *testing.T) {
	t.Parallel()
	for name, a := range apis {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overloaded := model.Error{Status: 529, Type: "overloaded_error", Message: "busy"}
			server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{
				{Error: &overloaded},
				{Text: "late", Delay: 30 * time.Millisecond},
			}}})
			const body = `{"messages": [{"role": "user", "content": "hi"}]}`
			status, got := post(t, server.URL+a.path, body)
			assert.Equal(t, 529, status)
			assert.Contains(t, got, "overloaded_error")
			began := time.Now()
			_, got = post(t, server.URL+a.path, body)
			assert.Contains(t, got, "late")
			assert.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
			status, _ = post(t, server.URL+a.path, "{")
			assert.Equal(t, 400, status)
		})
	}
}

func TestAToolThatIsNotOfferedFailsTheTest(t *testing.T) {
	t.Parallel()
	recorder := &failures{TB: t}
	server := model.Start(recorder, model.Script{{Name: "main", Turns: []model.Turn{{Tools: []model.Tool{{Name: "flame_push"}}}}}})
	post(t, server.URL+"/v1/messages", `{"messages": [], "tools": [{"name": "Bash"}]}`)
	assert.Equal(t, 1, recorder.count)
}

// failures counts the faults that would have failed a test.
type failures struct {
	testing.TB
	count int
}

func (f *failures) Errorf(string, ...any) { f.count++ }

func TestSmallEndpoints(t *testing.T) {
	t.Parallel()
	server := model.Start(t, nil)
	_, counted := post(t, server.URL+"/v1/messages/count_tokens", strings.Repeat("x", 400))
	assert.JSONEq(t, `{"input_tokens": 101}`, counted)
	answer, err := httpClient.Get(server.URL + "/v1/models")
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusOK, answer.StatusCode)
}
