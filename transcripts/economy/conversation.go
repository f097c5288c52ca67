package economy

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// A talk is one conversation with a model: a session's own, or a subagent's.
type talk struct {
	session, model string
	burden         int64 // tokens that flame adds to each request
	from, to       core.Millis
	written        int64
	cost           float64
	unpriced       int64
	compactions    int

	items    []item
	turns    []turn
	requests []request
	calls    map[string]call // whose outputs have not come, by id
	newest   map[string]int  // the item of the newest output, by its call
	words    words
	size     float64 // of all items of the next request
	answer   string  // id of the answer that is being read
}

// An item is one part of a conversation. Requests are numbered from 0.
type item struct {
	kind  Kind
	tool  string
	of    string
	size  float64 // in tokens, estimated: four characters each
	born  int     // the first request that had it
	died  int     // the first later request that did not
	used  int     // the last request whose answer used it; born if none did
	stale int     // the first request with a newer output of the same call; endless without one
	turn  int     // -1: before the first prompt
}

// A call is a call of a tool.
type call struct {
	tool, of string
	same     string // equal calls have the same
}

// A request is one request to a model.
type request struct {
	sent int64   // tokens, as the model counted them
	size float64 // of its items
}

// A turn is the work under one prompt.
type turn struct {
	first  int // its first request
	prompt int // the item
	last   int // the item of the last text of an answer; the prompt if there is none
}

// take takes in the next entry of the log.
func (t *talk) take(m core.Message) {
	t.to = max(t.to, m.Time)
	switch {
	case m.Summary:
		t.compactions++
		t.clear()
		t.hear(m, Added)
	case m.Role == core.RoleUser && m.Synthetic:
		t.hear(m, Added)
	case m.Role == core.RoleUser:
		t.hear(m, Words)
	case m.Role == core.RoleAssistant:
		t.say(m)
	}
}

// clear ends the items so far: no later request has them.
func (t *talk) clear() {
	for i := range t.items {
		if t.items[i].died == endless {
			t.items[i].died = len(t.requests)
		}
	}
	t.size = 0
	clear(t.newest)
}

// endless is what died and stale are until it is known.
const endless = int(^uint(0) >> 1)

// hear takes in a message that is not the model's.
func (t *talk) hear(m core.Message, kind Kind) {
	for _, p := range m.Parts {
		switch {
		case p.Type == core.PartToolResult:
			t.output(p)
		default:
			if kind == Words {
				t.turns = append(t.turns, turn{first: len(t.requests), prompt: len(t.items), last: len(t.items)})
			}
			t.keep(item{kind: kind}, p.Text)
			t.words.learn(p.Text, -1)
		}
	}
}

// say takes in a line of an answer; the lines of an answer together have what its request sent.
func (t *talk) say(m core.Message) {
	u := m.Usage
	switch sent := u.TokensIn + u.CacheRead + u.CacheWritten; {
	case sent == 0:
	case m.ID != "" && m.ID == t.answer:
		t.requests[len(t.requests)-1].sent += sent
	default:
		t.answer, t.model = m.ID, m.Model
		t.requests = append(t.requests, request{sent: sent, size: t.size})
	}
	t.written, t.cost, t.unpriced = t.written+u.TokensOut, t.cost+u.CostUSD, t.unpriced+u.Unpriced
	for _, p := range m.Parts {
		switch p.Type {
		case core.PartToolResult: // some hosts keep it beside its call
			t.output(p)
		case core.PartToolCall:
			t.calls[p.CallID] = callOf(p)
			t.words.used(string(p.Input), t.use)
			t.keep(item{kind: Calls, tool: p.Tool}, string(p.Input))
		default:
			if p.Type == core.PartText && len(t.turns) > 0 {
				t.turns[len(t.turns)-1].last = len(t.items)
			}
			t.words.used(p.Text, t.use)
			t.keep(item{kind: Answers}, p.Text)
		}
	}
}

// output takes in what a tool answered.
func (t *talk) output(p core.Part) {
	c, here := t.calls[p.CallID], len(t.items)
	delete(t.calls, p.CallID)
	if before, is := t.newest[c.same]; is {
		t.items[before].stale = len(t.requests)
	}
	if c.same != "" {
		t.newest[c.same] = here
	}
	t.keep(item{kind: Outputs, tool: c.tool, of: c.of}, p.Text)
	t.words.learn(p.Text, here)
}

// keep adds an item to the conversation.
func (t *talk) keep(i item, text string) {
	i.size = float64(utf8.RuneCountInString(text)) / 4
	i.born, i.used, i.turn = len(t.requests), len(t.requests), len(t.turns)-1
	i.died, i.stale = endless, endless
	t.items = append(t.items, i)
	t.size += i.size
}

// use notes that the current answer repeats a word of an output.
func (t *talk) use(output int) { t.items[output].used = max(t.items[output].used, len(t.requests)-1) }

// maxOf bounds Output.Of, in characters.
const maxOf = 100

// callOf returns what a call is about.
func callOf(p core.Part) call {
	var input map[string]any
	_ = json.Unmarshal(p.Input, &input) // what is no object is shown as it is
	of := string(p.Input)
	for _, key := range []string{"file_path", "filePath", "path", "command", "pattern", "url", "description"} {
		if text, is := input[key].(string); is && text != "" {
			of = text
			break
		}
	}
	return call{tool: p.Tool, of: core.OneLine(of, maxOf), same: p.Tool + " " + string(p.Input)}
}

// fixed returns what each request has besides the conversation: the median of the first five
// requests, as a session may begin with a request of another kind.
func (t *talk) fixed() int64 {
	rest := lo.Map(t.requests[:min(5, len(t.requests))], func(r request, _ int) int64 { return max(0, r.sent-int64(r.size)) })
	slices.Sort(rest)
	return rest[(len(rest)-1)/2]
}
