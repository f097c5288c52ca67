// Package messages reads and edits requests to Anthropic's Messages API, and reads the parts of
// the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// A request is the body of a request (a dialect.Request).
type request struct {
	model    string
	thinking string   // the type of thinking that it asks for; empty: none is named
	tools    []string // names, in order

	raw      string
	names    codec.MessageNames // of the messages, after History
	list     codec.Span         // of the list of messages
	messages []codec.Message
	edits    gjson.Result // context_management, if there is one
	end      int          // position of the last brace
}

// parse reads a body. It returns dialect.ErrUnread for a body that does not follow the API.
func parse(body []byte) (*request, error) {
	r := &request{raw: string(body)}
	found, ok := codec.Members(r.raw)
	list := found["messages"]
	if !ok || !list.IsArray() {
		return nil, codec.ErrUnread
	}
	r.model, r.thinking, r.edits = found["model"].Str, found["thinking"].Get("type").Str, found["context_management"]
	for _, tool := range found["tools"].Array() {
		r.tools = append(r.tools, tool.Get("name").Str)
	}
	r.end = strings.LastIndexByte(r.raw, '}')
	r.list = codec.SpanOf(list)
	for _, value := range list.Array() {
		m, ok := readMessage(value)
		if !ok {
			return nil, codec.ErrUnread
		}
		r.messages = append(r.messages, m)
	}
	return r, nil
}

// roles are the roles of the API.
var roles = map[string]core.Role{"user": core.RoleUser, "assistant": core.RoleAssistant, "system": core.RoleOther}

func readMessage(value gjson.Result) (m codec.Message, ok bool) {
	m.Raw = value.Raw
	content, known, keys := gjson.Result{}, false, 0
	gjson.Parse(m.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			m.Role, known = roles[value.Str]
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
		m.Listed, m.List = true, codec.SpanOf(content)
		content.ForEach(func(_, value gjson.Result) bool {
			m.Parts = append(m.Parts, readBlock(value))
			return true
		})
	case content.Type == gjson.String:
		m.Parts = []codec.Part{{Kind: codec.Words, Text: content.Str, Tokens: codec.Tokens(len(content.Str))}}
	default:
		return m, false
	}
	return m, known
}

// kinds are the kinds of blocks, by their types.
var kinds = map[string]codec.Kind{
	"text": codec.Words, "image": codec.Media, "document": codec.Media, "thinking": codec.Thought, "redacted_thinking": codec.Thought,
	"tool_use": codec.Calls, "tool_result": codec.Results,
}

// readBlock reads a block of a message.
func readBlock(value gjson.Result) codec.Part {
	b, kind, signature := codec.Part{Raw: value.Raw}, "", ""
	gjson.Parse(b.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			kind = value.Str
		case "id", "tool_use_id":
			b.ID = value.Str
		case "name":
			b.Tool = value.Str
		case "text":
			b.Text = value.Str
		case "signature", "data":
			signature = value.Str
		case "input":
			b.Input = value
		case "content":
			b.Content = value
		case "is_error":
			b.Failed = value.Bool()
		}
		return true
	})
	b.Kind = kinds[kind]
	switch {
	case b.Kind == codec.Thought:
		b.Signature = signature
	case b.Kind == codec.Results && b.Content.IsArray():
		b.Tokens = codec.TokensOf(b.Content, isPicture)
	case isPicture(kind):
		b.Tokens = codec.PictureTokens
	default:
		b.Tokens = codec.Tokens(len(b.Raw))
	}
	content := b.Content
	b.Said = func() string { return textOf(content) }
	return b
}

func isPicture(kind string) bool { return kind == "image" }

// textOf returns the text of the content of a result.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var all strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		all.WriteString(part.Get("text").Str)
		return true
	})
	return all.String()
}
