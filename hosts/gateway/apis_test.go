package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/codex"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/stack"
	"flame/tests/model/rules"
)

// ofCodex has a gateway serve Codex, whose API is OpenAI's.
func ofCodex(folding gateway.Folding) func(*gateway.Options) {
	return func(o *gateway.Options) {
		o.Host, o.Wire, o.Folding = codex.Name, codex.Host(nil).Gateway.Spec, folding
	}
}

// askAs sends a request of a session of Codex.
func (s *stand) askAs(session, text string) (status int, answer string) {
	s.t.Helper()
	r := s.request("/responses", strings.NewReader(text))
	r.Header.Set("Session-Id", session)
	r.Header.Set("Thread-Id", session)
	response, err := httpClient.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(got)
}

func TestAnotherAPI(t *testing.T) {
	t.Parallel()
	s := before(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/responses", r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"response","id":"r","output":[{"type":"message","role":"assistant","id":"msg_1","content":"hi"}],`+
			`"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":5}}`)
	}, ofCodex(gateway.FoldAuto))
	status, answer := s.askAs("s", `{"model":"m","input":[]}`)
	assert.Equal(t, 200, status)
	assert.Contains(t, answer, "msg_1")
	m := s.meter()
	assert.Equal(t, core.Usage{TokensIn: 60, CacheRead: 40, TokensOut: 5, Unpriced: 105}, m.Usage)
	assert.Equal(t, "r", m.Answer)
	assert.Equal(t, "main", m.Class)
}

func TestAnAPIThatClearsNothingGetsRequestsUnchanged(t *testing.T) {
	t.Parallel()
	const asked = `{"model":"m", "input":[{"type":"message","role":"user","content":"hi"}]}`
	s := before(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, asked, string(got))
	}, ofCodex(gateway.FoldByAPI))
	status, _ := s.askAs("s", asked)
	assert.Equal(t, 200, status)
}

func TestASocketForAnswersIsRefused(t *testing.T) {
	t.Parallel()
	s := before(t, func(w http.ResponseWriter, r *http.Request) { assert.Fail(t, "it went on") }, ofCodex(gateway.FoldOff))
	r := s.request("/responses", nil)
	r.Method = http.MethodGet
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	response, err := httpClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusUpgradeRequired, response.StatusCode)
}

func TestAnUpstreamThatIsGoneIsToldInTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	s := newStand(t, "http://127.0.0.1:1", ofCodex(gateway.FoldOff))
	status, answer := s.askAs("s", `{"input":[]}`)
	assert.Equal(t, 502, status)
	var told struct {
		Error struct{ Type, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &told))
	assert.Equal(t, "server_error", told.Error.Type)
	assert.Contains(t, told.Error.Message, "connection refused")
}

// A refusing upstream accepts no request that lost something: after one, flame leaves out nothing.
func TestAnotherAPIFolds(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]bool{"it accepts": false, "it refuses": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p project.Project
			var sent []string
			s := before(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				sent = append(sent, string(text))
				assert.NoError(t, new(rules.Items).Judge(text))
				w.Header().Set("Content-Type", "application/json")
				if refuses && !strings.Contains(string(text), "MUCH") {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":{"type":"invalid_request_error","message":"The encrypted content could not be verified."}}`)
					return
				}
				_, _ = io.WriteString(w, `{"object":"response","id":"r","output":[],"usage":{}}`)
			}, ofCodex(gateway.FoldOn), func(o *gateway.Options) { p = *o.Project })
			by := project.Caller{Session: "s", Host: codex.Name, Trust: project.TrustHook}
			frame, err := stack.Push(t.Context(), &p, by, "piece", "")
			require.NoError(t, err)
			_, err = stack.Pop(t.Context(), &p, by, stack.PopArgs{Status: core.Completed, Summary: "SUMMARY"})
			require.NoError(t, err)
			body := conversationOf(frame.ID)
			for range 4 {
				s.askAs("s", body)
			}
			require.Len(t, sent, 4)
			folded := 0
			for _, text := range sent {
				if !strings.Contains(text, "MUCH") {
					folded++
				}
			}
			assert.Equal(t, map[bool]int{false: 4, true: 1}[refuses], folded)
		})
	}
}

// conversationOf returns a request in which a frame is over.
func conversationOf(frame string) string {
	call := func(id, space, name, output string) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":%q,"namespace":%q,"name":%q,"arguments":"{}"},`+
			`{"type":"function_call_output","call_id":%q,"output":%q},`, id, space, name, id, output)
	}
	user := func(text string) string { return fmt.Sprintf(`{"type":"message","role":"user","content":%q}`, text) }
	return `{"model":"m","input":[` + user("please") + "," +
		call("c1", "mcp__flame", "flame_push", "Started "+frame+" \"piece\".") + call("c2", "", "exec_command", strings.Repeat("MUCH ", 20_000)) +
		call("c3", "mcp__flame", "flame_pop", frame+" is completed: \"piece\"") +
		`{"type":"message","role":"assistant","content":"done"},` + user("more") + `]}`
}
