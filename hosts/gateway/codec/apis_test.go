package codec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/codex"
	"flame/hosts/gateway/codec"
	"flame/hosts/gemini"
)

// An api is an API of models, and what its requests and answers look like. An item is one of Items by
// its name, "talk" for all of a conversation, or the item itself.
type api struct {
	*codec.Codec
	wire *hosts.GatewaySpec

	Path, Before, After string // of a request, around its items
	Items               map[string]json.RawMessage
	Talk                []json.RawMessage // a conversation with a frame that is over
	Histories           map[string]struct {
		Items   []json.RawMessage
		History []string // the beginning of a message's name, and what described says of the message
	}
	Same    map[string][2]json.RawMessage // messages that have the same name
	Amended map[string]struct {
		Items  []json.RawMessage // empty: the conversation
		Drop   []int             // messages
		Stale  []int
		Before int // where a note stands; 0: there is none
		Cut    int // whose calls get the line; 0: none
		Calls  []string
		Line   string
		Want   []json.RawMessage
	}
	Unread  []string // bodies
	Odd     []string // bodies to begin fuzzing with
	Answers map[string]struct {
		Text               string
		Is                 codec.Answer
		Usage, Final, Name string // Name: how the name of the message begins
	}
	Next struct { // an answer, and the message that the next request has for it
		Items  []json.RawMessage
		Answer string
		Then   json.RawMessage
	}
}

func apis(t testing.TB) map[string]*api {
	t.Helper()
	all := map[string]*api{
		"messages":  {Codec: codec.Messages(), wire: claudecode.Host().Gateway.Spec},
		"responses": {Codec: codec.Responses(), wire: codex.Host(nil).Gateway.Spec},
		"contents":  {Codec: codec.Contents(), wire: gemini.Host(nil).Gateway.Spec},
	}
	for name, a := range all {
		raw, err := os.ReadFile("testdata/" + name + ".json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, a), name)
	}
	return all
}

// each runs a test for each API.
func each(t *testing.T, f func(*testing.T, *api)) {
	t.Parallel()
	for name, a := range apis(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, a)
		})
	}
}

// body returns a request with items.
func (a *api) body(items ...json.RawMessage) string {
	var all []string
	for _, item := range items {
		var name string
		if json.Unmarshal(item, &name) != nil {
			all = append(all, string(item))
		} else if name == "talk" {
			return a.body(a.Talk...)
		} else {
			all = append(all, string(a.Items[name]))
		}
	}
	return a.Before + strings.Join(all, ",") + a.After
}

func (a *api) parse(t testing.TB, body string) (*codec.Request, []fold.Message) {
	t.Helper()
	r, err := a.Parse(a.Path, []byte(body))
	require.NoError(t, err, body)
	return r, r.History(a.wire)
}

// described says what folding reads of a message.
func described(m fold.Message) string {
	says := string(m.Role)
	for _, flag := range []struct {
		name string
		is   bool
	}{{"answers", m.IsToolResult}, {"host", m.FromHost}, {"summary", m.Summary}, {"open", m.Open}} {
		if flag.is {
			says += " " + flag.name
		}
	}
	for _, move := range m.Moves {
		says += fmt.Sprintf(" %s %s", move.Kind, move.Frame)
		if move.First {
			says += " first"
		}
		if move.Rest != "" {
			says += ", of " + move.Call + " " + move.Rest
		}
	}
	for _, call := range m.Calls {
		says += " call " + call.ID
	}
	if m.UserWords != "" {
		says += " said " + m.UserWords
	}
	if m.Text != "" {
		says += " says " + m.Text
	}
	return says
}

func TestHistories(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		for name, tt := range a.Histories {
			r, history := a.parse(t, a.body(tt.Items...))
			require.Len(t, history, len(tt.History), name)
			for i, m := range history {
				begins, says, _ := strings.Cut(tt.History[i], " ")
				assert.True(t, strings.HasPrefix(m.Name, begins), "%s: %s", name, m.Name)
				assert.Equal(t, says, described(m), "%s: %d", name, i)
				assert.Positive(t, m.Tokens)
			}
			assert.NotEmpty(t, r.Asks().Model)
		}
	})
}

func TestNamesStayTheSame(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		for name, tt := range a.Same {
			_, one := a.parse(t, a.body(tt[0]))
			_, other := a.parse(t, a.body(tt[1]))
			assert.Equal(t, one[0].Name, other[0].Name, name)
		}
		_, twice := a.parse(t, a.body(a.Next.Items[0], a.Next.Then, a.Next.Items[0], a.Next.Then))
		assert.NotEqual(t, twice[1].Name, twice[3].Name)

		// An answer has the name that its message gets.
		r, _ := a.parse(t, a.body(a.Next.Items...))
		reader := a.NewReader("application/json")
		_, _ = reader.Write([]byte(a.Next.Answer)) // it never fails
		reader.Close()
		assert.Equal(t, twice[1].Name, reader.Name(r.Names()))
	})
}

func TestAmendedBodies(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		whole := a.body(a.Talk...)
		r, history := a.parse(t, whole)
		assert.Equal(t, whole, string(r.Amended(history, fold.Edits{})), "nothing is amended")
		for name, tt := range a.Amended {
			items := tt.Items
			if items == nil {
				items = a.Talk
			}
			r, history := a.parse(t, a.body(items...))
			var change fold.Edits
			for _, i := range tt.Drop {
				change.Drop = append(change.Drop, history[i].Name)
			}
			for _, i := range tt.Stale {
				change.DropThinking = append(change.DropThinking, history[i].Name)
			}
			if tt.Before > 0 {
				change.Before = []fold.Note{{Before: history[tt.Before].Name, Text: `a "note"`}}
			}
			for _, call := range tt.Calls {
				change.Cuts = append(change.Cuts, fold.Cut{Message: history[tt.Cut].Name, Call: call, Text: tt.Line})
			}
			got := string(r.Amended(history, change))
			assert.True(t, json.Valid([]byte(got)), got)
			assert.Equal(t, a.body(tt.Want...), got, name)
		}
	})
}

func TestUnexpectedBodiesAreNotRead(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		for _, body := range a.Unread {
			_, err := a.Parse(a.Path, []byte(body))
			assert.ErrorIs(t, err, codec.ErrUnread, body)
		}
		assert.True(t, a.Codec.IsModelCall(a.Path))
		assert.False(t, a.Codec.IsModelCall("v1/models") || a.Codec.IsModelCall(strings.Replace(a.Path, "streamGenerateContent", "countTokens", 1)+"/x"))
	})
}

func TestDeepJSONIsNotRead(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		deep := strings.Repeat("[", 60<<20) // that deep, to read it could end the program
		_, err := a.Parse(a.Path, []byte(a.Before+deep))
		require.ErrorIs(t, err, codec.ErrUnread)
		for _, kind := range []string{"text/event-stream", "application/json"} {
			for _, text := range []string{"data: " + deep[:15<<20] + "\n", deep[:15<<20]} {
				read, _, _ := a.readIn(kind, text, 1<<20)
				assert.Zero(t, read)
			}
		}
		brackets := `{"x":"` + strings.Repeat(`[{\"`, 5000) + `",`
		_, err = a.Parse(a.Path, []byte(strings.Replace(a.body(a.Talk...), "{", brackets, 1)))
		assert.NoError(t, err, "those of a text are none of JSON's")
	})
}

// readIn reads an answer in parts of a size.
func (a *api) readIn(kind, text string, size int) (answer codec.Answer, name string, firsts int) {
	r := a.NewReader(kind)
	r.First = func() { firsts++ }
	for len(text) > 0 {
		n := min(size, len(text))
		_, _ = r.Write([]byte(text[:n])) // it never fails
		text = text[n:]
	}
	r.Close()
	return r.Answer, r.Name(codec.MessageNames{}), firsts
}

func TestAnswersAreReadAsTheyPass(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		for name, tt := range a.Answers {
			kind := "application/json; charset=UTF-8"
			if strings.Contains(tt.Text, "data:") {
				kind = "text/event-stream"
			}
			for _, size := range []int{1, 7, 1 << 20} {
				got, called, firsts := a.readIn(kind, tt.Text, size)
				assert.Equal(t, []string{tt.Usage, tt.Final}, []string{string(got.Usage), string(got.Final)}, name)
				got.Usage, got.Final = nil, nil
				assert.Equal(t, tt.Is, got, name)
				assert.True(t, strings.HasPrefix(called, tt.Name) && (called == "") == (tt.Name == ""), "%s: %s", name, called)
				assert.Equal(t, tt.Name != "", firsts == 1, "%s: First is called once there is content", name)
			}
		}
		assert.Nil(t, a.NewReader("text/html"))
	})
}

func FuzzRequests(f *testing.F) {
	all := apis(f)
	for name, a := range all {
		for _, what := range []byte{0, 1, 2, 255} {
			for _, body := range a.Odd {
				f.Add(name, []byte(body), what)
			}
			for _, tt := range a.Histories {
				f.Add(name, []byte(a.body(tt.Items...)), what)
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, body []byte, what byte) {
		a := all[name]
		if a == nil {
			return
		}
		given := string(body)
		r, err := a.Parse(a.Path, body)
		if err != nil {
			return
		}
		history := r.History(a.wire)
		assert.Equal(t, given, string(body), "what is read stays")
		if out := string(r.Amended(history, fold.Edits{})); !strings.Contains(out, "cache_control") {
			assert.Equal(t, given, out, "nothing is amended")
		}
		if !json.Valid(body) { // it has invalid characters, which the API's reader may take or not
			return
		}
		for _, change := range amendments(history, what) {
			out := r.Amended(history, change)
			require.True(t, json.Valid(out), "%+v: %s", change, out)
			again, err := a.Parse(a.Path, out)
			require.NoError(t, err, "%s", out)
			again.History(a.wire)
		}
		if name == "responses" {
			assert.Empty(t, unpaired(r.Amended(history, whole(history, what)), unpaired(body, nil)), "no call loses its output: %s", given)
		}
	})
}

// amendments returns all sorts of them; what says which messages they are about.
func amendments(history []fold.Message, what byte) []fold.Edits {
	var all fold.Edits
	for _, m := range history {
		for _, call := range m.Calls {
			all.Cuts = append(all.Cuts, fold.Cut{Call: call.ID, Text: "cut \x00\"\xff<>"})
		}
		for _, move := range m.Moves {
			if move.Call != "" {
				all.Cuts = append(all.Cuts, fold.Cut{Call: move.Call, Text: move.Rest})
			}
		}
		all.Drop, all.DropThinking, all.Cuts = append(all.Drop, m.Name), append(all.DropThinking, m.Name), append(all.Cuts, fold.Cut{Message: m.Name})
	}
	some := whole(history, what)
	if len(history) > 0 {
		some.Before = []fold.Note{{Before: history[len(history)-1].Name, Text: "a note \u2028\xff"}}
	}
	return []fold.Edits{all, some, {DropThinking: all.DropThinking, Cuts: all.Cuts}}
}

// whole returns an amendment that drops answers with the results of their calls, as folding does, but
// none that must stay, and no words of the user.
func whole(history []fold.Message, what byte) (a fold.Edits) {
	for i := 0; i < len(history); i++ {
		end := i + 1
		for end < len(history) && history[end].IsToolResult {
			end++
		}
		stays := func(m fold.Message) bool { return m.Open || m.Role == core.RoleUser && !m.FromHost && !m.IsToolResult }
		if what>>(i%8)&1 == 0 && !slices.ContainsFunc(history[i:end], stays) {
			for _, m := range history[i:end] {
				a.Drop = append(a.Drop, m.Name)
			}
		}
		i = end - 1
	}
	return a
}

// unpaired returns the ids of calls without an output, and the reverse, that a body of the Responses API
// has beyond others.
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
		switch {
		case json.Unmarshal(raw, &i) != nil:
		case strings.HasSuffix(i.Type, "_call_output"):
			ends[i.Call]--
		case strings.HasSuffix(i.Type, "_call"):
			ends[i.Call]++
		}
	}
	maps.DeleteFunc(ends, func(id string, n int) bool { return n == 0 || slices.Contains(beyond, id) })
	return slices.Collect(maps.Keys(ends))
}

func FuzzAnswers(f *testing.F) {
	all := apis(f)
	for name, a := range all {
		for _, tt := range a.Answers {
			f.Add(name, []byte(tt.Text), 7)
		}
	}
	f.Fuzz(func(t *testing.T, name string, text []byte, size int) {
		a := all[name]
		if a == nil || size < 1 {
			return
		}
		for _, kind := range []string{"text/event-stream", "application/json"} {
			want, called, firsts := a.readIn(kind, string(text), max(1, len(text)))
			got, again, inParts := a.readIn(kind, string(text), size)
			assert.Equal(t, want, got, kind)
			assert.Equal(t, called, again)
			assert.Equal(t, firsts, inParts, "First is called alike for the same content")
			assert.LessOrEqual(t, firsts, 1, "and once")
		}
	})
}
