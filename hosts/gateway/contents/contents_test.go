package contents_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/gateway/contents"
	"flame/hosts/gateway/dialect"
)

const path = "v1beta/models/gemini-2.5-pro:streamGenerateContent"

// wire is a host whose tools of flame have the names of operations.
func wire() *hosts.Wire {
	return &hosts.Wire{
		Own: func(tool string) op.Name {
			if strings.HasPrefix(tool, "flame_") {
				return op.Name(tool)
			}
			return ""
		},
		Said: func(text string, _ bool) string {
			if strings.HasPrefix(text, "<") {
				return ""
			}
			return text
		},
		IsSummary: func(text string) bool { return strings.Contains(text, "<snapshot>") },
	}
}

// talk is a conversation with a frame that has ended, and work behind it.
const talk = `{"contents": [
 {"role":"user","parts":[{"text":"<context>"},{"text":"Build it"}]},
 {"role":"model","parts":[{"thought":true,"text":"hm"},{"functionCall":{"id":"1","name":"flame_push","args":{"goal":"x"}},"thoughtSignature":"S1"}]},
 {"role":"user","parts":[{"functionResponse":{"id":"1","name":"flame_push","response":{"output":"Started frame-a \"x\"."}}}]},
 {"role":"model","parts":[{"functionCall":{"id":"2","name":"read","args":{}},"thoughtSignature":"S2"}]},
 {"role":"user","parts":[{"functionResponse":{"id":"2","name":"read","response":{"output":"much"}}}]},
 {"role":"model","parts":[{"functionCall":{"id":"3","name":"flame_pop","args":{}},"thoughtSignature":"S3"}]},
 {"role":"user","parts":[{"functionResponse":{"id":"3","name":"flame_pop","response":{"output":"frame-a is completed."}}}]},
 {"role":"model","parts":[{"text":"done","thoughtSignature":"S4"}]},
 {"role":"user","parts":[{"text":"go on"}]},
 {"role":"model","parts":[{"functionCall":{"id":"4","name":"read","args":{}},"thoughtSignature":"S5"}]},
 {"role":"user","parts":[{"functionResponse":{"id":"4","name":"read","response":{"error":"no"}}}]}
], "tools": [] , "unknown": 1}`

func parse(t *testing.T, body string) dialect.Request {
	t.Helper()
	r, err := contents.Dialect().Parse(path, []byte(body))
	require.NoError(t, err)
	return r
}

func TestAConversationIsRead(t *testing.T) {
	t.Parallel()
	r := parse(t, talk)
	assert.Equal(t, "gemini-2.5-pro", r.Asks().Model)
	history := r.History(wire())
	require.Len(t, history, 11)
	assert.Equal(t, []fold.Move{{Kind: fold.Enter, Frame: "frame-a", First: true}}, history[1].Moves)
	assert.Equal(t, []fold.Move{{Kind: fold.Leave, Frame: "frame-a", First: true}}, history[5].Moves)
	assert.Equal(t, "done", history[7].Text)
	for i, m := range history {
		assert.Equal(t, i%2 == 1, m.Role == core.RoleAssistant)
		assert.Equal(t, i%2 == 0 && i > 0 && i != 8, m.Answers, "%d", i)
		assert.False(t, m.Open || m.Host || m.Summary, "%d", i)
	}
	require.Len(t, history[3].Calls, 1)
	assert.Equal(t, "2", history[3].Calls[0].ID)
	assert.Empty(t, history[9].Calls, "a failed one")

	compacted := strings.Replace(talk, `[{"text":"<context>"},{"text":"Build it"}]`, `[{"text":"<snapshot>"}]`, 1)
	cut := parse(t, compacted).History(wire())
	assert.True(t, cut[0].Summary && cut[0].Host)
	for i := 1; i < 8; i++ {
		assert.Equal(t, history[i].Name, cut[i].Name, "names outlast a compaction")
	}
	unknown := parse(t, strings.Replace(talk, `{"text":"done"`, `{"executableCode":{}},{"text":"done"`, 1)).History(wire())
	assert.True(t, unknown[7].Open)
}

func TestAnAmendedConversationKeepsTheRules(t *testing.T) {
	t.Parallel()
	r := parse(t, talk)
	history := r.History(wire())
	names := func(at ...int) (names []string) {
		for _, i := range at {
			names = append(names, history[i].Name)
		}
		return names
	}
	tests := map[string]struct {
		a    fold.Amendment
		want map[string]string // by path
		kept int
	}{
		"nothing": {fold.Amendment{}, map[string]string{"contents.1.parts.1.thoughtSignature": "S1"}, 11},
		"a frame": {
			fold.Amendment{Drop: names(1, 2, 3, 4), Stale: names(5, 7, 9)}, map[string]string{
				"contents.1.parts.0.functionCall.name": "flame_pop", "contents.1.parts.0.thoughtSignature": "",
				"contents.3.parts.0.text": "done", "contents.3.parts.0.thoughtSignature": "", "contents.5.parts.0.thoughtSignature": "S5", "unknown": "1",
			}, 7,
		},
		"a thought": {
			fold.Amendment{Stale: names(1)}, map[string]string{"contents.1.parts.0.functionCall.id": "1", "contents.1.parts.0.thoughtSignature": ""}, 11,
		},
		"a note before the user's words": {
			fold.Amendment{Before: []fold.Note{{Before: history[8].Name, Text: "a \"note\""}}},
			map[string]string{"contents.8.parts.0.text": `a "note"`, "contents.9.parts.0.text": "go on"}, 12,
		},
		"a note before a result stands behind it": {
			fold.Amendment{Before: []fold.Note{{Before: history[4].Name, Text: "note"}}},
			map[string]string{"contents.4.parts.0.functionResponse.id": "2", "contents.5.parts.0.text": "note"}, 12,
		},
		"an output": {
			fold.Amendment{Cuts: []fold.Cut{{Message: history[3].Name, Call: "2", Text: "less"}}},
			map[string]string{"contents.4.parts.0.functionResponse.response.output": "less", "contents.4.parts.0.functionResponse.name": "read"}, 11,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := string(r.Amended(history, tt.a))
			require.True(t, gjson.Valid(body), body)
			assert.Len(t, gjson.Get(body, "contents").Array(), tt.kept)
			for at, want := range tt.want {
				assert.Equal(t, want, gjson.Get(body, at).String(), at)
			}
		})
	}
	assert.Equal(t, talk, string(r.Amended(history, fold.Amendment{})))
	assert.NotImplements(t, (*dialect.Clearer)(nil), r, "the API clears nothing by itself")
}

func TestWordsGoUnlessTheirSignatureStays(t *testing.T) {
	t.Parallel()
	const pop = `{"functionCall":{"id":"3","name":"flame_pop","args":{}},"thoughtSignature":"S3"}`
	const bare, signed = `{"functionCall":{"id":"3","name":"flame_pop","args":{}}}`, `{"text":"next","thoughtSignature":"S3w"}`
	for words, want := range map[string][2]string{ // in an earlier turn, and in the current one
		`{"text":"next"}`: {"[" + bare + "]", "[" + pop + "]"},
		signed:            {"[" + bare + "]", "[" + signed + "," + pop + "]"},
	} {
		spoken := strings.Replace(talk, pop, words+","+pop, 1)
		for i, body := range []string{spoken, strings.Replace(spoken, `[{"text":"go on"}]`, `[{"text":"<x>","thought":true}]`, 1)} {
			r := parse(t, body)
			history := r.History(wire())
			name := history[5].Name
			got := r.Amended(history, fold.Amendment{Stale: []string{name}, Cuts: []fold.Cut{{Message: name}}})
			assert.JSONEq(t, want[i], gjson.GetBytes(got, "contents.5.parts").Raw)
		}
	}
}

func TestACallWithoutAnIDIsOfItsMessage(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"contents":[{"role":"user","parts":[{"text":"a"}]},
		{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}},{"functionCall":{"name":"flame_push","args":{}}}]},
		{"role":"function","parts":[{"functionResponse":{"name":"read","response":{"output":"x"}}},
			{"functionResponse":{"name":"flame_push","response":{"output":"Started frame-b \"y\"."}}}]}]}`)
	history := r.History(wire())
	assert.Equal(t, []fold.Move{{Kind: fold.Enter, Frame: "frame-b"}}, history[1].Moves)
	assert.Empty(t, history[1].Calls, "another message may have a call of the same name")
	assert.True(t, history[2].Answers)
}

func TestOtherBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `[]`, `{}`, `{"contents": 1}`, `{"contents": [{"role": "system", "parts": []}]}`, `{"contents": [{"role": "user"}]}`,
		`{"contents": [{"parts": [{"text": "a"}]}]}`, `{"contents": [], "contents": []}`, `{"contents": [{"role": "user", "role": "model", "parts": []}]}`,
	} {
		_, err := contents.Dialect().Parse(path, []byte(body))
		assert.ErrorIs(t, err, dialect.ErrUnread, body)
	}
	answers := contents.Dialect().Answers
	assert.True(t, answers(path) && answers("v1/models/x:generateContent"))
	assert.False(t, answers("v1beta/models/x:countTokens") || answers("v1beta/models/x/y:generateContent") || answers("v1/messages"))
}

func TestAnAnswerIsReadAsItPasses(t *testing.T) {
	t.Parallel()
	chunks := []string{
		`{"responseId":"r","modelVersion":"gemini-2.5-pro","candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":"hm"},{"text":"I "}]}}],` +
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1}}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"read"},{"functionCall":{"id":"4","name":"read","args":{}},` +
			`"thoughtSignature":"S5"}]},"finishReason":"STOP"}],` +
			`"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":7,"thoughtsTokenCount":3}}`,
	}
	forms := map[string]struct{ kind, body string }{
		"events":  {"text/event-stream", "data: " + chunks[0] + "\r\n\r\ndata: " + chunks[1] + "\r\n\r\n"},
		"a list":  {"application/json; charset=UTF-8", "[" + chunks[0] + ",\n" + chunks[1] + "]"},
		"a whole": {"application/json", strings.Replace(chunks[1], `{"candidates"`, `{"responseId":"r","modelVersion":"gemini-2.5-pro","candidates"`, 1)},
		"a bit":   {"text/event-stream", "data: " + chunks[0] + "\n\n"},
		"too many": {"application/json", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":` +
			`"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`},
		"a form":  {"application/json", `[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Function call is missing a thought_signature"}}]`},
		"a limit": {"application/json", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"turn"}}`},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := contents.Dialect().NewReader(form.kind)
			require.NotNil(t, r)
			for _, b := range []byte(form.body) {
				_, _ = r.Write([]byte{b})
			}
			r.Close()
			switch name {
			case "too many":
				assert.Equal(t, []any{400, 1048576, false}, []any{r.Failed, r.Window, r.Malformed})
				return
			case "a form":
				assert.Equal(t, []any{400, true, ""}, []any{r.Failed, r.Malformed, r.Name(dialect.Names{})})
				return
			case "a limit":
				assert.Equal(t, []any{429, false}, []any{r.Failed, r.Malformed})
				return
			}
			assert.Equal(t, []any{"r", "gemini-2.5-pro", name != "a bit"}, []any{r.ID, r.Model, r.Whole})
			if r.Whole {
				assert.JSONEq(t, gjson.Get(chunks[1], "usageMetadata").Raw, string(r.Usage))
				history := parse(t, talk)
				names := history.History(wire())
				assert.Equal(t, names[9].Name, r.Name(history.Names()), "the name that the answer has in the next request")
			}
		})
	}
}

func FuzzContents(f *testing.F) {
	f.Add(talk)
	f.Add(`{"contents":[{"role":"model","parts":[{"text":""},{"thoughtSignature":"x"},7,{"functionCall":7}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := contents.Dialect().Parse(path, []byte(body))
		if err != nil {
			return
		}
		history := r.History(wire())
		assert.Equal(t, body, string(r.Amended(history, fold.Amendment{})))
		var all []string
		for _, m := range history {
			all = append(all, m.Name)
		}
		if len(all) > 1 {
			edited := r.Amended(history, fold.Amendment{Drop: all[1:], Stale: all[:1]})
			assert.True(t, gjson.Valid(string(edited)), string(edited))
		}
		reader := contents.Dialect().NewReader("application/json")
		_, _ = reader.Write([]byte(body))
		reader.Close()
	})
}

func TestWhatTheHostPutsAroundAPopsAnswerStaysAroundItsRest(t *testing.T) {
	t.Parallel()
	const answer = `[frame-a is completed.\nStarted frame-b as your current frame.]HOOK`
	const pop = `{"contents": [
		{"role":"user","parts":[{"text":"Build it"}]},
		{"role":"model","parts":[{"functionCall":{"ID""name":"flame_pop","args":{}}}]},
		{"role":"user","parts":[{"functionResponse":{"ID""name":"flame_pop","response":{"output":"` + answer + `"}}}]},
		{"role":"model","parts":[{"text":"done"}]},
		{"role":"user","parts":[{"text":"go on"}]}]}`
	w := wire()
	w.Answer = func(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]HOOK") }
	r := parse(t, strings.ReplaceAll(pop, `"ID"`, `"id":"7",`))
	history := r.History(w)
	move := history[1].Moves[0]
	assert.Equal(t, fold.Move{Kind: fold.Leave, Frame: "frame-a", First: true, Call: "7", Rest: "[frame-a is completed.]HOOK"}, move)
	sent := string(r.Amended(history, fold.Amendment{Cuts: []fold.Cut{{Message: history[1].Name, Call: move.Call, Text: move.Rest}}}))
	assert.Contains(t, sent, `{"output":"[frame-a is completed.]HOOK"}`)

	history = parse(t, strings.ReplaceAll(pop, `"ID"`, "")).History(w)
	assert.Empty(t, history[1].Moves[0].Call, "an id that flame made is the same in other messages")
}
