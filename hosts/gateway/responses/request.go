// Package responses reads and edits requests to OpenAI's Responses API, and reads the parts of
// the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// Dialect returns the API.
func Dialect() *codec.Codec {
	return &codec.Codec{
		IsModelCall: func(path string) bool { return path == "responses" || strings.HasSuffix(path, "/responses") },
		Parse:       func(_ string, body []byte) (codec.Request, error) { return parse(body) },
		Event:       event, Whole: whole, Failure: failure,
	}
}

// A request is the body of a request (a dialect.Request).
type request struct {
	model    string
	raw      string
	names    codec.MessageNames // of the messages, after History
	list     codec.Span         // of the list of items
	messages []message
}

// Asks returns what the request asks for beside its messages.
func (r *request) Asks() codec.Params { return codec.Params{Model: r.model} }

// Names returns the names that History gave.
func (r *request) Names() codec.MessageNames { return r.names.Kept() }

// A message is what folding takes for one: all that the model said in an answer; the outputs of its
// calls; or an item on its own.
type message struct {
	role    core.Role
	results bool // it answers calls
	items   []item
}

// An item is one item of a request.
type item struct {
	raw     string
	kind    string // type
	role    string // of a message
	call    string // id of a call, or of the call that an output answers
	tool    string // of a call, with its namespace
	input   string // of a call: JSON or any text
	content gjson.Result
	output  gjson.Result
	sealed  string // encrypted content
}

// A sort says what an item is to a conversation.
type sort int

const (
	unknown sort = iota // it stays as it is, with the answer that it is part of
	speech              // a message; of the model or of others, as its role says
	thought             // of the model
	call                // of a tool
	output              // of a tool
	summary             // the result of a compaction
)

// sorts are the sorts of items, by type.
var sorts = map[string]sort{
	"message": speech, "reasoning": thought, "compaction": summary, "compaction_summary": summary,
	"function_call": call, "custom_tool_call": call, "local_shell_call": call,
	"function_call_output": output, "custom_tool_call_output": output, "local_shell_call_output": output,
}

func (i *item) sort() sort { return sorts[i.kind] }

// ofModel reports whether the model made the item.
func (i *item) ofModel() bool {
	s := i.sort()
	return s == thought || s == call || s == speech && i.role == string(core.RoleAssistant) || s == unknown && strings.HasSuffix(i.kind, "_call")
}

// parse reads a body. It returns dialect.ErrUnread for a body that does not follow the API, and
// for one that continues a conversation which the API keeps.
func parse(body []byte) (*request, error) {
	r := &request{raw: string(body)}
	found, ok := codec.Members(r.raw)
	list := found["input"]
	if !ok || !list.IsArray() || found["previous_response_id"].Str != "" || found["conversation"].IsObject() {
		return nil, codec.ErrUnread
	}
	r.model, r.list = found["model"].Str, codec.SpanOf(list)
	open := map[string]bool{} // the calls without an output so far
	for _, value := range list.Array() {
		i, ok := readItem(value)
		if !ok {
			return nil, codec.ErrUnread
		}
		r.add(i, open)
	}
	return r, nil
}

// add adds an item to the last message or begins another; open are the calls without an output so
// far. What others say while there are some, such as a hook, goes with the outputs, and with
// the answer if that goes on.
func (r *request) add(i item, open map[string]bool) {
	role, results, last := core.RoleUser, i.sort() == output || i.sort() == speech && len(open) > 0, r.last()
	if i.ofModel() {
		role, results = core.RoleAssistant, false
		if n := len(r.messages); last.results && n > 1 && len(open) > 0 && len(last.of(output)) == 0 {
			r.messages[n-2].items, r.messages = append(r.messages[n-2].items, last.items...), r.messages[:n-1]
			last = r.last()
		}
		if last.role != role {
			clear(open)
		}
	}
	switch i.sort() {
	case call:
		open[i.call] = true
	case output:
		delete(open, i.call)
	}
	if last.role == role && (role == core.RoleAssistant || results && last.results) {
		last.items = append(last.items, i)
		return
	}
	r.messages = append(r.messages, message{role, results, []item{i}})
}

// last returns the last message so far.
func (r *request) last() *message {
	if len(r.messages) == 0 {
		return &message{}
	}
	return &r.messages[len(r.messages)-1]
}

// of returns the items of a sort.
func (m *message) of(s sort) (items []*item) {
	for i := range m.items {
		if m.items[i].sort() == s {
			items = append(items, &m.items[i])
		}
	}
	return items
}

// readItem reads an item. A message may come without its type.
func readItem(value gjson.Result) (i item, ok bool) {
	i.raw = value.Raw
	keys, space := map[string]bool{}, ""
	gjson.Parse(i.raw).ForEach(func(key, value gjson.Result) bool {
		ok = !keys[key.Str]
		keys[key.Str] = true
		switch key.Str {
		case "type":
			i.kind = value.Str
		case "role":
			i.role = value.Str
		case "call_id":
			i.call = value.Str
		case "name":
			i.tool = value.Str
		case "namespace":
			space = value.Str
		case "arguments", "input":
			i.input = value.Str
		case "action":
			i.input = value.Raw
		case "content":
			i.content = value
		case "output":
			i.output = value
		case "encrypted_content":
			i.sealed = value.Str
		}
		return ok
	})
	if i.kind == "" && i.role != "" {
		i.kind = "message"
	}
	if space != "" {
		i.tool = space + apart + i.tool
	}
	return i, ok && value.IsObject()
}

// apart separates a namespace from the name of a tool in it.
const apart = "__"
