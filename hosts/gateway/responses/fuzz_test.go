package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/fold"
	"flame/hosts/gateway/dialect"
	"flame/hosts/gateway/responses"
)

func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		in(all...), in(runs, hook, patches, patched, ran), in(ran, runs), in(thinks, thinks, answers), ` {"input" : [ ] , "x":1} `,
		in(`{"role":"user","content":[7,"x",null,{}]}`), in(`{"type":"reasoning","id":"a","encrypted_content":5}`, `{"type":"local_shell_call","action":{}}`),
		`{"input":{}}`, `[]`, `{`, in(`{"type":"function_call","na\u006de":"x","call_id":"c1","arguments":"{\"a\":[[[1"}`, pushed),
	} {
		for _, what := range []byte{0, 1, 2, 255} {
			f.Add([]byte(body), what)
		}
	}
	w := wire()
	f.Fuzz(func(t *testing.T, body []byte, what byte) {
		given := string(body)
		r, err := responses.Parse(body)
		if err != nil {
			return
		}
		history := r.History(w)
		assert.Equal(t, given, string(r.Amended(history, fold.Amendment{})), "nothing is amended")
		if !json.Valid(body) {
			return
		}
		for _, a := range amendments(history, what) {
			out := r.Amended(history, a)
			require.True(t, json.Valid(out), "%+v: %s", a, out)
			again, err := responses.Parse(out)
			require.NoError(t, err, "%s", out)
			again.History(w)
		}
		assert.Empty(t, unpaired(r.Amended(history, whole(history, what)), unpaired(body, nil)), "no call loses its output")
	})
}

// amendments returns all sorts of them; what says which messages they are about.
func amendments(history []fold.Message, what byte) []fold.Amendment {
	var all fold.Amendment
	for _, m := range history {
		for _, call := range m.Calls {
			all.Cuts = append(all.Cuts, fold.Cut{Call: call.ID, Text: "cut \x00\"\xff<>"})
		}
		for _, move := range m.Moves {
			if move.Call != "" {
				all.Cuts = append(all.Cuts, fold.Cut{Call: move.Call, Text: move.Rest})
			}
		}
		all.Drop, all.Stale, all.Cuts = append(all.Drop, m.Name), append(all.Stale, m.Name), append(all.Cuts, fold.Cut{Message: m.Name})
	}
	some := whole(history, what)
	if len(history) > 0 {
		some.Before = []fold.Note{{Before: history[len(history)-1].Name, Text: "a note \u2028\xff"}}
	}
	return []fold.Amendment{all, some, {Stale: all.Stale, Cuts: all.Cuts}}
}

// whole returns an amendment that drops answers with their outputs, as folding does, but none that
// must stay.
func whole(history []fold.Message, what byte) (a fold.Amendment) {
	for i := 0; i < len(history); i++ {
		end := i + 1
		for end < len(history) && history[end].Answers {
			end++
		}
		open := false
		for _, m := range history[i:end] {
			open = open || m.Open
		}
		for _, m := range history[i:end] {
			if !open && what>>(i%8)&1 == 0 {
				a.Drop = append(a.Drop, m.Name)
			}
		}
		i = end - 1
	}
	return a
}

// unpaired returns the ids of calls without an output, and the reverse, that a body has beyond others.
func unpaired(body []byte, beyond []string) (ids []string) {
	var in struct{ Input []json.RawMessage }
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	ends := map[string]int{}
	for _, raw := range in.Input {
		var i struct {
			Type string
			Call string `json:"call_id"`
		}
		if json.Unmarshal(raw, &i) != nil {
			continue
		}
		switch {
		case strings.HasSuffix(i.Type, "_call_output"):
			ends[i.Call]--
		case strings.HasSuffix(i.Type, "_call"):
			ends[i.Call]++
		}
	}
	known := map[string]bool{}
	for _, id := range beyond {
		known[id] = true
	}
	for id, n := range ends {
		if n != 0 && !known[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

const stream = `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","model":"m"}}

data: {"type":"response.output_item.added","item":{"type":"reasoning"}}

data: {"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1","encrypted_content":"sealed"}}

data: {"type":"response.output_item.done","item":{"type":"function_call","id":"fc_1","call_id":"c7","name":"x","arguments":"{}"}}

data: {"type":"response.completed","response":{"id":"resp_1","model":"m","usage":{"input_tokens":9}}}

`

// readIn reads an answer in parts of a size.
func readIn(kind, text string, size int) (a dialect.Answer, name string, firsts int) {
	r := responses.Dialect().NewReader(kind)
	r.First = func() { firsts++ }
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = r.Write([]byte(text[:n])) // it never fails
		text = text[n:]
	}
	r.Close()
	return r.Answer, r.Name(dialect.Names{}), firsts
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const done = `{"object":"response","id":"resp_1","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant",` +
		`"content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":9}}`
	usage := []byte(`{"input_tokens":9}`)
	tests := map[string]struct {
		text string
		want dialect.Answer
		name string // its beginning
	}{
		"a stream":      {stream, dialect.Answer{ID: "resp_1", Model: "m", Usage: usage, Whole: true}, "c:c7"},
		"at once":       {done, dialect.Answer{ID: "resp_1", Model: "m", Usage: usage, Whole: true}, "t:"},
		"half a stream": {stream[:strings.Index(stream, "data: {\"type\":\"response.completed")], dialect.Answer{ID: "resp_1", Model: "m"}, "c:c7"},
		"an error": {
			`{"error":{"type":"invalid_request_error","message":"No tool output found for function call c1"}}`, dialect.Answer{Failed: 500, Malformed: true}, "",
		},
		"an error of ChatGPT": {`{"detail":"Unauthorized"}`, dialect.Answer{Failed: 500}, ""},
		"too many requests": {
			"data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"error\":{\"code\":\"rate_limit_exceeded\"}}}\n",
			dialect.Answer{ID: "r", Failed: 429, Whole: true}, "",
		},
		"an error in between": {"data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\"}\n", dialect.Answer{Failed: 500}, ""},
		"something else":      {`{"object":"list"}`, dialect.Answer{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := "application/json"
			if !strings.HasPrefix(tt.text, "{") {
				kind = "text/event-stream"
			}
			got, called, firsts := readIn(kind, tt.text, 7)
			assert.Equal(t, tt.want, got)
			assert.True(t, strings.HasPrefix(called, tt.name), called)
			assert.Equal(t, tt.name != "", firsts == 1)
		})
	}
}

func TestAnAnswerHasTheNameThatItsMessageGets(t *testing.T) {
	t.Parallel()
	r, _ := parse(t, in(please))
	_, history := parse(t, in(please, thinks, answers))
	reader := responses.Dialect().NewReader("application/json")
	_, _ = reader.Write([]byte(`{"object":"response","id":"r","output":[` + thinks + `,` + answers + `]}`))
	reader.Close()
	assert.Equal(t, history[1].Name, reader.Name(r.Names()))
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(stream), 3)
	f.Add([]byte(`{"error":{}}`), 1)
	f.Add([]byte(`{"object":"response","output":[7,{"type":"message","role":"assistant","content":"x"}]}`), 5)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 {
			return
		}
		for _, kind := range []string{"text/event-stream", "application/json"} {
			want, name, firsts := readIn(kind, string(text), max(1, len(text)))
			got, again, inParts := readIn(kind, string(text), size)
			assert.Equal(t, want, got, kind)
			assert.Equal(t, name, again)
			assert.Equal(t, firsts, inParts)
		}
	})
}
