package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A Body has the parts of a request that the rules check.
type Body struct {
	Model     string
	System    []Block // without a billing header, which is no part of a prompt
	Tools     []Block
	Messages  []Message
	Thinking  string // type of thinking asked for: adaptive, enabled, disabled or empty
	DropBlock bool   // drop thinking that does not fit, instead of refusing the request
	Paid      bool   // the API asks a price for all that it puts into its cache
}

// A Message is a message of a conversation.
type Message struct {
	Role   string // user, assistant, system
	Blocks []Block
}

// A Block is a part of a message, of the system prompt, or a tool.
type Block struct {
	Type      string
	Text      string
	ID        string // of a tool_use
	CallID    string // of a tool_result: the id of its tool_use
	Signature string // of thinking, or of a part of Google's API that thinking led to
	Marked    bool   // whether it has a cache_control
	Life      time.Duration

	plain string // its JSON in one spelling, without cache_control
}

// ErrNotARequest is returned by Parse for a body without a list of messages.
var ErrNotARequest = errors.New("messages: Field required")

// Lifetimes of entries in the cache.
const (
	shortLife = 5 * time.Minute
	longLife  = time.Hour
)

// Parse reads a request. It keeps an unknown form as a block of unknown type, so that only a body
// without messages is an error.
func Parse(raw []byte) (Body, error) {
	var in struct {
		Model, System, Tools, Thinking, Messages json.RawMessage
	}
	if json.Unmarshal(raw, &in) != nil {
		return Body{}, ErrNotARequest
	}
	var list []json.RawMessage
	if json.Unmarshal(in.Messages, &list) != nil || list == nil {
		return Body{}, ErrNotARequest
	}
	b := Body{Model: text(in.Model), Tools: blocks(in.Tools)}
	for _, part := range blocks(in.System) {
		if !strings.HasPrefix(part.Text, billing) {
			b.System = append(b.System, part)
		}
	}
	fields := object(in.Thinking)
	b.Thinking = text(fields["type"])
	b.DropBlock = text(object(fields["block_binding"])["prefix_mismatch_behavior"]) == "drop_block"
	for _, message := range list {
		fields := object(message)
		b.Messages = append(b.Messages, Message{Role: text(fields["role"]), Blocks: blocks(fields["content"])})
	}
	return b, nil
}

// billing begins a text that Claude Code puts before the system prompt.
const billing = "x-anthropic-billing-header"

// blocks reads content: a bare text, which is one block, or a list.
func blocks(raw json.RawMessage) []Block {
	var bare string
	if json.Unmarshal(raw, &bare) == nil && len(raw) > 0 && raw[0] == '"' {
		return []Block{{Type: "text", Text: bare, plain: plain(map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": raw})}}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	out := make([]Block, 0, len(list))
	for _, one := range list {
		out = append(out, block(one))
	}
	return out
}

func block(raw json.RawMessage) Block {
	fields := object(raw)
	if fields == nil {
		return Block{plain: string(raw)}
	}
	b := Block{
		Type: text(fields["type"]), Text: text(fields["text"]), ID: text(fields["id"]), CallID: text(fields["tool_use_id"]),
		Signature: text(fields["signature"]),
	}
	switch {
	case b.Type == "redacted_thinking":
		b.Signature = text(fields["data"])
	case b.Signature == "":
		b.Signature = text(fields["thoughtSignature"])
	}
	if mark, ok := fields["cache_control"]; ok {
		b.Marked, b.Life = true, shortLife
		if text(object(mark)["ttl"]) == "1h" {
			b.Life = longLife
		}
		delete(fields, "cache_control")
	}
	b.plain = plain(fields)
	return b
}

// plain writes fields in the order of their names. Within them the order is the client's, which
// repeats a block as it sent it before.
func plain(fields map[string]json.RawMessage) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(fields) // it was JSON before
	return strings.TrimSpace(out.String())
}

// object returns the fields of a JSON object, nil for anything else.
func object(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// text returns a JSON string, empty for anything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (b Block) isThinking() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }
