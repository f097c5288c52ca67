package messages_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/dialect"
	"flame/hosts/gateway/messages"
)

// asked are bodies to begin with.
var askedOften = []string{
	`{"model":"m","messages":[]}`,
	` {"messages" : [ {"role":"user","content":"a"} , {"role":"assistant","content":[{"type":"text","text":"b"}]} ] , "x":1} `,
	`{"messages":[{"role":"user","content":[{"type":"text","text":"caf\u00e9 \ud83d","cache_control":{"type":"ephemeral"}}]}],"context_management":null}`,
	`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},` +
		`{"type":"tool_use","id":"c1","name":"mcp__flame__flame_push","input":{"goal":"g"}},{"type":"tool_use","id":"c2","name":"Read","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"Started frame-aaaaaaaa \"g\". Parent: none."},` +
		`{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"x"},{"type":"image"}],"is_error":false}]}]}`,
	`{"messages":[{"role":"user","role":"assistant","content":"a","content":[7,"x",null,{}]}]}`,
	`{"messages":[{"role":"system","content":[]},{"role":"system","content":[]}],"context_management":{"edits":[ ]},"tools":[{"name":"x"},7]}`,
	`{"messages":[{"role":"user","content":[{"type":"text","te\u0078t":"a"}]}],"context_management":{"a":{}}}`,
	`{"messages":[{"role":"assistant","content":[{"type":"tool_result"}]}]}`,
	`{"messages":{}}`, `[]`, `{`, "\x00", `{"messages":[{"role":"user","content":[[[[{"type":"text"}]]]]}]}`,
}

// allowed are the headers of a request for which the API can clear results.
var allowed = http.Header{"Anthropic-Beta": {"x", "context-management-2025-06-27"}}

func FuzzRequests(f *testing.F) {
	for _, body := range askedOften {
		for _, what := range []byte{0, 1, 2, 255} {
			f.Add([]byte(body), what)
		}
	}
	wire := claudecode.Host().Wire
	f.Fuzz(func(t *testing.T, body []byte, what byte) {
		given := string(body)
		r, err := messages.Parse(body)
		if err != nil {
			return
		}
		history := r.History(wire)
		assert.Equal(t, given, string(body), "what is read stays")
		if out := string(r.Amended(history, fold.Amendment{})); !strings.Contains(out, "cache_control") {
			assert.Equal(t, given, out, "nothing is amended")
		}
		if !json.Valid(body) { // it has invalid characters, which the API's reader may take or not
			return
		}
		assert.True(t, json.Valid(r.Cleared(allowed, wire)), "%s", r.Cleared(allowed, wire))
		for _, a := range amendments(history, what) {
			out := r.Amended(history, a)
			require.True(t, json.Valid(out), "%+v: %s", a, out)
			again, err := messages.Parse(out)
			require.NoError(t, err, "%s", out)
			notes := len(slices.DeleteFunc(slices.Clone(a.Before), func(n fold.Note) bool { // beside results that stay they are no messages
				return strings.HasPrefix(n.Before, "r:") && !slices.Contains(a.Drop, n.Before)
			}))
			assert.Len(t, again.History(wire), len(history)-len(a.Drop)+notes)
		}
	})
}

// amendments returns all sorts of them; what says which messages they are about.
func amendments(history []fold.Message, what byte) []fold.Amendment {
	var a, all fold.Amendment
	for i, m := range history {
		for _, call := range m.Calls {
			all.Cuts = append(all.Cuts, fold.Cut{Call: call.ID, Text: "cut \x00\"\xff<>"})
		}
		for _, move := range m.Moves {
			if move.Call != "" {
				all.Cuts = append(all.Cuts, fold.Cut{Call: move.Call, Text: move.Rest})
			}
		}
		all.Drop, all.Stale, all.Cuts = append(all.Drop, m.Name), append(all.Stale, m.Name), append(all.Cuts, fold.Cut{Message: m.Name})
		if what>>(i%8)&1 == 0 {
			a.Drop = append(a.Drop, m.Name)
		}
	}
	if len(history) > 0 {
		a.Before = []fold.Note{{Before: history[len(history)-1].Name, Text: "a note \u2028\xff"}}
	}
	return []fold.Amendment{all, a, {Stale: all.Stale, Cuts: all.Cuts}}
}

// answered are answers to begin with.
var answeredOften = []string{
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\",\"usage\":{\"input_tokens\":1}}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"a \"}}\r\n\r\n" +
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\" b\\u00e9\"}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c d\"}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\"}}\n\n" +
		"data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	`{"type":"message","id":"m","model":"x","content":[{"type":"text","text":"a"},{"type":"redacted_thinking","data":"z"}],"usage":{"output_tokens":2}}`,
	`{"type":"error","error":{"type":"overloaded_error"}}`, "data: {\n\ndata:\n:\n\r\r\n", "<html>", "", "data: " + strings.Repeat("[", 5000) + "\n",
}

func FuzzAnswers(f *testing.F) {
	for _, text := range answeredOften {
		f.Add([]byte(text), 1)
		f.Add([]byte(text), 7)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 {
			return
		}
		for _, kind := range []string{"text/event-stream", "application/json"} {
			whole, inParts := 0, 0
			want := readIn(kind, text, max(1, len(text)), &whole)
			got := readIn(kind, text, size, &inParts)
			assert.Equal(t, want, got, kind)
			assert.Equal(t, whole, inParts, "First is called alike for the same content")
			assert.LessOrEqual(t, whole, 1, "and once")
		}
	})
}

// readIn reads an answer in parts of a size.
func readIn(kind string, text []byte, size int, firsts *int) dialect.Answer {
	r := messages.Dialect().NewReader(kind)
	r.First = func() { *firsts++ }
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = r.Write(text[:n]) // it never fails
		text = text[n:]
	}
	r.Close()
	return r.Answer
}

func TestDeepJSONIsNotRead(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 60<<20) // that deep, to read it could end the program
	_, err := messages.Parse([]byte(`{"messages":` + deep))
	require.ErrorIs(t, err, dialect.ErrUnread)
	firsts := 0
	for _, kind := range []string{"text/event-stream", "application/json"} {
		assert.Zero(t, readIn(kind, []byte("data: "+deep[:15<<20]+"\n"), 1<<20, &firsts))
		assert.Zero(t, readIn(kind, []byte(deep[:15<<20]), 1<<20, &firsts))
	}
	brackets := `{"messages":[{"role":"user","content":"` + strings.Repeat(`[{\"`, 5000) + `"}]}`
	_, err = messages.Parse([]byte(brackets))
	require.NoError(t, err, "those of a text are none of JSON's")
}
