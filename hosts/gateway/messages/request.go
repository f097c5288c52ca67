// Package messages reads and edits requests to Anthropic's Messages API, and reads the parts of
// the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package messages

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
)

// A Request is the body of a request, as it came.
type Request struct {
	Model    string
	Thinking string   // the type of thinking that it asks for; empty: none is named
	Tools    []string // names, in order

	raw      string
	names    Names // of the messages, after History
	list     span  // of the list of messages
	messages []message
	edits    gjson.Result // context_management, if there is one
	end      int          // position of the last brace
}

// A span is a part of a text.
type span struct{ from, to int }

// A message is one message of a request.
type message struct {
	raw    string
	role   core.Role
	blocks []block
	listed bool // its content is a list of blocks rather than a text
	list   span // of that list, in raw
}

// ErrUnread is returned for a body that does not follow the API, or has parts that flame cannot
// edit.
var ErrUnread = errors.New("the body of the request is not as expected")

// Parse reads a body.
func Parse(body []byte) (*Request, error) {
	r := &Request{raw: string(body)}
	if !isValid(r.raw) {
		return nil, ErrUnread
	}
	top, found := gjson.Parse(r.raw), map[string]gjson.Result{}
	wrong := !top.IsObject()
	top.ForEach(func(key, value gjson.Result) bool {
		_, twice := found[key.Str]
		found[key.Str], wrong = value, wrong || twice
		return true
	})
	if wrong || !found["messages"].IsArray() {
		return nil, ErrUnread
	}
	r.Model, r.Thinking, r.edits = found["model"].Str, found["thinking"].Get("type").Str, found["context_management"]
	for _, tool := range found["tools"].Array() {
		r.Tools = append(r.Tools, tool.Get("name").Str)
	}
	r.end = strings.LastIndexByte(r.raw, '}')
	list := found["messages"]
	r.list = span{list.Index, list.Index + len(list.Raw)}
	for _, value := range list.Array() {
		m, ok := readMessage(value)
		if !ok {
			return nil, ErrUnread
		}
		r.messages = append(r.messages, m)
	}
	return r, nil
}

// maxDepth bounds how deep lists and objects may be nested.
const maxDepth = 1000

// isValid reports whether a text is JSON that is not nested so deep that reading it could
// exhaust the stack.
func isValid(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return gjson.Valid(text)
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
		m.listed, m.list = true, span{content.Index, content.Index + len(content.Raw)}
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
