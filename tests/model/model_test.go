package model_test

import (
	"cmp"
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
	"flame/tests/model/rules"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// post sends body as a client does, with headers in pairs, and returns the answer.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
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

// An api is one of the three, with what differs: a request with room for STREAM (whether it streams) and
// MORE (more of the conversation), and what its answers have.
type api struct{ path, streamed, asks, result, stream string }

var apis = map[string]api{
	"Anthropic": {
		path:   "/v1/messages",
		asks:   `{"model": "m", "stream": STREAM, "tools": [{"name": "prefix_push"}], "messages": [{"role": "user", "content": "begin"}MORE]}`,
		result: `{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "frame-1"}]}]}`, stream: `event: message_stop`,
	},
	"Responses": {
		path:   "/v1/responses",
		asks:   `{"stream": STREAM, "tools": [{"type": "function", "name": "prefix_push"}], "input": [{"role": "user", "content": "begin"}MORE]}`,
		result: `{"type": "function_call", "call_id": "c", "name": "x"}, {"type": "function_call_output", "call_id": "c", "output": "frame-1"}`,
		stream: `event: response.completed`,
	},
	"Google": {
		path: "/v1beta/models/m:generateContent", streamed: "/v1beta/models/m:streamGenerateContent",
		asks: `{"tools": [{"functionDeclarations": [{"name": "prefix_push"}]}], "contents": [{"role": "user", "parts": [{"text": "begin"}]}MORE]}`,
		result: `{"role": "model", "parts": [{"functionCall": {"name": "x"}, "thoughtSignature": "signed-x"}]}, ` +
			`{"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": "frame-1"}}}]}`,
		stream: `data: {`,
	},
}

// body returns a request.
func (a api) body(stream, more string) string {
	return strings.NewReplacer("STREAM", stream, "MORE", more).Replace(a.asks)
}

func TestTurnsAreServedInOrder(t *testing.T) {
	for name, a := range apis {
		t.Run(name, func(t *testing.T) {
			server := model.Start(t, model.Script{
				{Name: "other", Match: regexp.MustCompile("never")},
				{Name: "main", Match: regexp.MustCompile("begin"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{{Name: "push", Input: map[string]any{"goal": "x"}}}},
					{From: func(r model.Request) model.Turn { return model.Turn{Text: "made " + r.LastResult()} }},
				}},
			})
			_, first := post(t, server.URL+a.path, a.body("false", ""))
			assert.Contains(t, first, `"name":"prefix_push"`)
			assert.True(t, json.Valid([]byte(first)))
			_, second := post(t, server.URL+cmp.Or(a.streamed, a.path), a.body("true", ", "+a.result))
			assert.Contains(t, second, "made frame-1")
			assert.Contains(t, second, a.stream)
			_, third := post(t, server.URL+a.path, a.body("false", ""))
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

func TestFailuresAndDelays(t *testing.T) {
	for name, a := range apis {
		t.Run(name, func(t *testing.T) {
			overloaded := model.Error{Status: 529, Type: "overloaded_error", Message: "busy"}
			server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{
				{Error: &overloaded},
				{Text: "late", Delay: 30 * time.Millisecond},
			}}})
			body := a.body("false", "")
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

func TestRulesDecideAndCount(t *testing.T) {
	server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{{Thinking: "hm", Text: "one"}, {Thinking: "so", Text: "two"}}}})
	judge := rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
	server.Enforce(judge)
	path := server.URL + "/v1/messages"
	long := strings.Repeat("word ", 1000)
	begin := `{"messages": [{"role": "user", "content": [{"type": "text", "text": "` + long + `", "cache_control": {}}]}`

	status, refused := post(t, path, `{"messages": [{"role": "user", "content": " "}]}`)
	assert.Equal(t, 400, status)
	assert.Contains(t, refused, "invalid_request_error")
	_, first := post(t, path, begin+"]}")
	var answer struct {
		Content []json.RawMessage
		Usage   struct {
			Written int `json:"cache_creation_input_tokens"`
			Read    int `json:"cache_read_input_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(first), &answer))
	require.Len(t, answer.Content, 2, "a refused request takes no turn")
	assert.Greater(t, answer.Usage.Written, 1000)

	said := `, {"role": "assistant", "content": [` + string(answer.Content[0]) + `, ` + string(answer.Content[1]) + `]}, {"role": "user", "content": "and"}]`
	_, stream := post(t, path, begin+said+`, "stream": true}`)
	assert.Contains(t, stream, "signature_delta")
	assert.Contains(t, stream, "two")
	assert.Contains(t, stream, `"cache_creation_input_tokens":0`)
	status, refused = post(t, path, strings.Replace(begin+said+"}", "word", "other", 1))
	assert.Equal(t, 400, status)
	assert.Contains(t, refused, "bound to a different conversation")

	seen := server.Requests()
	require.Len(t, seen, 4)
	assert.Error(t, seen[0].Refused)
	assert.Len(t, server.By("main"), 2)
	assert.Equal(t, 2, judge.Stats().Rejected)
	assert.Positive(t, judge.Stats().Read)
}

func TestTheJudgeCountsWhatOtherAPIsCache(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	for name, tt := range map[string]struct{ path, body, read string }{
		"OpenAI": {"/v1/responses", `{"model": "m", "input": [{"role": "user", "content": "` + long + `"}]}`, `"cached_tokens":(\d+)`},
		"Google": {"/v1beta/models/m:generateContent", `{"contents": [{"role": "user", "parts": [{"text": "` + long + `"}]}]}`,
			`"cachedContentTokenCount":(\d+)`},
		"Google, with a schema": {"/v1beta/models/m:generateContent",
			`{"generationConfig": {"responseSchema": {"type": "object"}}, "contents": [{"role": "user", "parts": [{"text": "` + long + `"}]}]}`,
			`"cachedContentTokenCount":(\d+)`},
	} {
		t.Run(name, func(t *testing.T) {
			server := model.Start(t, nil)
			judge := rules.New(rules.Options{Cache: true})
			server.Enforce(judge)
			for _, cached := range []bool{false, true} {
				_, answer := post(t, server.URL+tt.path, tt.body)
				found := regexp.MustCompile(tt.read).FindStringSubmatch(answer)
				require.NotNil(t, found, answer)
				assert.Equal(t, cached, found[1] != "0", answer)
			}
			assert.Equal(t, 2, judge.Stats().Requests)
			assert.Positive(t, judge.Stats().Out)
		})
	}
}
