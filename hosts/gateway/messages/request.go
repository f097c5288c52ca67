// Package messages reads and edits requests to Anthropic's Messages API, and reads the parts of
// the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/dialect"
)

// A request is the body of a request (a dialect.Request).
type request struct {
	model    string
	thinking string   // the type of thinking that it asks for; empty: none is named
	tools    []string // names, in order

	raw      string
	names    dialect.Names // of the messages, after History
	list     dialect.Span  // of the list of messages
	messages []message
	edits    gjson.Result // context_management, if there is one
	end      int          // position of the last brace
}

// A message is one message of a request.
type message struct {
	raw    string
	role   core.Role
	blocks []block
	listed bool         // its content is a list of blocks rather than a text
	list   dialect.Span // of that list, in raw
}

// parse reads a body. It returns dialect.ErrUnread for a body that does not follow the API.
func parse(body []byte) (*request, error) {
	r := &request{raw: string(body)}
	found, ok := dialect.Members(r.raw)
	list := found["messages"]
	if !ok || !list.IsArray() {
		return nil, dialect.ErrUnread
	}
	r.model, r.thinking, r.edits = found["model"].Str, found["thinking"].Get("type").Str, found["context_management"]
	for _, tool := range found["tools"].Array() {
		r.tools = append(r.tools, tool.Get("name").Str)
	}
	r.end = strings.LastIndexByte(r.raw, '}')
	r.list = dialect.SpanOf(list)
	for _, value := range list.Array() {
		m, ok := readMessage(value)
		if !ok {
			return nil, dialect.ErrUnread
		}
		r.messages = append(r.messages, m)
	}
	return r, nil
}

// roles are the roles of the API.
var roles = map[string]core.Role{"user": core.RoleUser, "assistant": core.RoleAssistant, "system": core.RoleOther}

func readMessage(value gjson.Result) (m message, ok bool) {
	m.raw = value.Raw
	content, known, keys := gjson.Result{}, false, 0
	gjson.Parse(m.raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			m.role, known = roles[value.Str]
			keys++
		case "content":
			content = value
			keys++
		}
		return true
	})
	switch {
	case keys != 2: // one is missing, or is there twice
		return m, false
	case content.IsArray():
		m.listed, m.list = true, dialect.SpanOf(content)
		content.ForEach(func(_, value gjson.Result) bool {
			m.blocks = append(m.blocks, readBlock(value))
			return true
		})
	case content.Type == gjson.String:
		m.blocks = []block{{kind: "text", text: content.Str}}
	default:
		return m, false
	}
	return m, known
}

// A block is one block of a message.
type block struct {
	raw       string
	kind      string // type
	id        string // of a call, or of the call that a result answers
	tool      string // of a call
	text      string
	signature string       // of thinking
	input     gjson.Result // of a call
	content   gjson.Result // of a result
	failed    bool         // the result is an error
}

func readBlock(value gjson.Result) block {
	b := block{raw: value.Raw}
	gjson.Parse(b.raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			b.kind = value.Str
		case "id", "tool_use_id":
			b.id = value.Str
		case "name":
			b.tool = value.Str
		case "text":
			b.text = value.Str
		case "signature", "data":
			b.signature = value.Str
		case "input":
			b.input = value
		case "content":
			b.content = value
		case "is_error":
			b.failed = value.Bool()
		}
		return true
	})
	return b
}

// known are the types of blocks that flame knows. A message with another block stays as it is.
var known = []string{"text", "image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result"}

func (b *block) thinks() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// of returns the blocks of a kind.
func (m *message) of(kind string) (blocks []*block) {
	for i := range m.blocks {
		if m.blocks[i].kind == kind {
			blocks = append(blocks, &m.blocks[i])
		}
	}
	return blocks
}

// isKnown reports whether flame knows all blocks of the message.
func (m *message) isKnown() bool {
	return !slices.ContainsFunc(m.blocks, func(b block) bool { return !slices.Contains(known, b.kind) })
}
