package codec

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
)

// Messages returns Anthropic's Messages API.
func Messages() *Codec {
	return &Codec{
		IsModelCall: func(path string) bool { return path == "v1/messages" },
		Failure: func(message string) any {
			return map[string]any{"type": "error", "error": map[string]string{"type": "api_error", "message": message}}
		},
		list: "messages", read: readMessage, asks: asksOfMessages, begin: (*Request).chooseMark, says: userMessages, inside: true, edited: editedMessage,
		clear: (*Request).cleared,
		event: messageEvent, whole: wholeMessage,
		failures: failures{
			code: "type", statuses: map[string]int{"overloaded_error": 529, "rate_limit_error": http.StatusTooManyRequests},
			only:    [2]string{"type", "invalid_request_error"},
			form:    core.Pattern("thinking|signature|tool_use|tool_result|role|cache_control|non-empty|context_management"),
			tooMany: core.Pattern(`(?:prompt is too long|exceed context limit): [0-9]+[^>]{0,20}> ([0-9]{4,9})\b`),
		},
	}
}

func asksOfMessages(r *Request, p *Params) {
	p.Hour, p.Leads = gjson.Get(r.newestMark(), "ttl").Str == "1h", r.members["thinking"].Get("type").Str == "enabled"
}

// messageRoles are the roles of the API.
var messageRoles = map[string]core.Role{"user": core.RoleUser, "assistant": core.RoleAssistant, "system": core.RoleOther}

// readList reads a message of APIs that have a role and a list of parts in each, in members of these names.
func (m *Message) readList(value gjson.Result, list string, roles map[string]core.Role) (ok bool) {
	m.Raw = value.Raw
	keys := 0
	gjson.Parse(m.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			m.Role, keys = roles[value.Str], keys+1
		case list:
			m.List, keys = value, keys+1
		}
		return true
	})
	return keys == 2 && m.Role != "" // neither is there twice
}

// finish notes what the parts of a message have in common.
func (m *Message) finish() Message {
	m.Results = m.Role == core.RoleUser && len(m.of(results)) > 0
	for i := range m.Parts {
		m.Parts[i].System = m.Role == core.RoleOther
	}
	return *m
}

func readMessage(r *Request, value gjson.Result) bool {
	m := &Message{}
	ok := m.readList(value, "content", messageRoles)
	switch {
	case m.List.IsArray():
		m.List.ForEach(func(_, value gjson.Result) bool {
			m.Parts = append(m.Parts, readBlock(value))
			return true
		})
	case m.List.Type == gjson.String:
		m.Parts = []Part{{Kind: words, Text: m.List.Str, Tokens: tokens(len(m.List.Str))}}
	default:
		return false
	}
	r.messages = append(r.messages, m.finish())
	return ok
}

// blockKinds are the kinds of blocks, by their types.
var blockKinds = map[string]Kind{
	"text": words, "image": media, "document": media, "thinking": thoughts, "redacted_thinking": thoughts, "tool_use": calls, "tool_result": results,
}

// readBlock reads a block of a message.
func readBlock(value gjson.Result) Part {
	b, kind, signature := Part{Raw: value.Raw}, "", ""
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
	const picture = "image"
	b.Kind = blockKinds[kind]
	b.Shows = b.Kind == media
	switch {
	case b.Kind == thoughts:
		b.Signature = signature
	case b.Kind == results && b.Content.IsArray():
		b.Tokens = tokensOf(b.Content, picture)
	case kind == picture:
		b.Tokens = pictureTokens
	default:
		b.Tokens = tokens(len(b.Raw))
	}
	content := b.Content
	b.Said = func() string { return textOf(content, "") }
	return b
}

// textOf returns a text, or the texts of a list of parts, with something between them.
func textOf(value gjson.Result, between string) string {
	if !value.IsArray() {
		return value.Str
	}
	var all []string
	value.ForEach(func(_, part gjson.Result) bool {
		all = append(all, part.Get("text").Str)
		return true
	})
	return strings.Join(all, between)
}

// userMessages returns a message of the user. The API joins it with a neighbouring message of the user.
func userMessages(texts []string) []string {
	return []string{`{"role":"user","content":` + listOf(textBlocks(texts)) + `}`}
}

func textBlocks(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, `{"type":"text","text":`+quoted(text)+`}`)
	}
	return all
}

// thoughtOnly replaces the thinking of a message that has nothing else: a message must not be
// empty.
const thoughtOnly = "(thinking)"

// editedMessage returns a message as it is sent. What the user says beside results follows them in it.
func editedMessage(e *edit, m *Message, name string) []string {
	edited, behind, blocks := false, 0, make([]string, 0, len(m.Parts))
	for i := range m.Parts {
		b := &m.Parts[i]
		line, cut := e.cut(b)
		switch {
		case b.Kind == thoughts && e.stale[name], b.Kind == words && e.mute[name], cut && line == "":
			edited = true
			continue
		case b.Kind == results && cut && b.Content.Exists():
			blocks, edited = append(blocks, put(b.Raw, b.Content, quoted(line))), true
		default:
			blocks = append(blocks, b.Raw)
		}
		if b.Kind == results {
			behind = len(blocks)
		}
	}
	if notes := e.before[name]; m.Results && len(notes) > 0 {
		blocks, edited = slices.Insert(blocks, behind, textBlocks(notes)...), true
	}
	raw := m.Raw
	if edited && m.List.IsArray() {
		if len(blocks) == 0 {
			blocks = textBlocks([]string{thoughtOnly})
		}
		raw = put(m.Raw, m.List, listOf(blocks))
	}
	if name == e.marked {
		raw = marked(raw, e.mark)
	}
	return []string{raw}
}

// wholeMessage reads an answer that is not streamed.
func wholeMessage(r *Reader, m gjson.Result) {
	switch m.Get("type").Str {
	case "message":
		r.begin(m, "id", "model", "usage")
		m.Get("content").ForEach(func(_, value gjson.Result) bool {
			r.started()
			b := readBlock(value)
			r.add(&b)
			return true
		})
		r.Whole = true
	case "error":
		r.fail(m.Get("error"))
	}
}

// messageEvent reads an event of a streamed answer.
func messageEvent(r *Reader, event gjson.Result) {
	switch event.Get("type").Str {
	case "message_start":
		r.begin(event.Get("message"), "id", "model", "usage")
	case "content_block_start":
		r.started()
		b := readBlock(event.Get("content_block"))
		r.add(&b)
	case "content_block_delta":
		delta := event.Get("delta")
		switch delta.Get("type").Str {
		case "text_delta":
			r.words.add(delta.Get("text").Str)
		case "signature_delta":
			r.thoughts.add(delta.Get("signature").Str)
		}
	case "message_delta":
		if usage := usageOf(event.Get("usage")); usage != nil {
			r.Final = usage
		}
	case "error":
		r.fail(event.Get("error"))
	case "message_stop":
		r.Whole = true
	}
}
