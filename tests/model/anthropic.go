package model

import (
	"encoding/json"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

// content is a text, or a list of blocks; both occur in either API.
type content []block

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`    // of a tool_use
	Input   json.RawMessage `json:"input"`   // of a tool_use
	Content content         `json:"content"` // of a tool_result
}

// UnmarshalJSON accepts a bare text as one block.
func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		b := block{Type: "text"}
		*c = content{b}
		return json.Unmarshal(data, &(*c)[0].Text)
	}
	return json.Unmarshal(data, (*[]block)(c))
}

// text joins the blocks that are text.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" || b.Type == "input_text" || b.Type == "output_text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func parseAnthropic(body []byte) (Request, error) {
	var in struct {
		Model    string
		System   content
		Stream   bool
		Messages []struct {
			Role    string
			Content content
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, System: in.System.text(), Stream: in.Stream}
	for _, m := range in.Messages {
		message := Message{Role: m.Role, Text: m.Content.text()}
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				message.Calls = append(message.Calls, Tool{Name: b.Name, Input: b.Input})
			case "tool_result":
				message.Results = append(message.Results, b.Content.text())
			}
		}
		req.Messages = append(req.Messages, message)
	}
	for _, tool := range in.Tools {
		req.Tools = append(req.Tools, tool.Name)
	}
	return req, nil
}

// thought returns the block of an answer's thinking. Without rules its signature is a constant.
func (a answer) thought() object {
	signature := a.signature
	if signature == "" {
		signature = "c2ln"
	}
	return object{"type": "thinking", "thinking": a.thinking, "signature": signature}
}

func (anthropic) whole(r Request, a answer) any {
	blocks := []object{}
	if a.thinking != "" {
		blocks = append(blocks, a.thought())
	}
	if a.text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.text})
	}
	for _, c := range a.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input})
	}
	return anthropicMessage(r, a, blocks, a.stopReason())
}

func anthropicMessage(r Request, a answer, blocks []object, stop any) object {
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": r.Model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{
			"input_tokens": a.usage.Input, "output_tokens": a.usage.Output,
			"cache_read_input_tokens":     a.usage.CacheRead,
			"cache_creation_input_tokens": a.usage.Cached5m + a.usage.CachedForHour,
			"cache_creation": object{
				"ephemeral_5m_input_tokens": a.usage.Cached5m, "ephemeral_1h_input_tokens": a.usage.CachedForHour,
			},
		},
	}
}

func (a answer) stopReason() string {
	if len(a.calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (anthropic) events(r Request, a answer) []event {
	var events []event
	send := func(kind string, fields object) {
		fields["type"] = kind
		events = append(events, event{name: kind, data: fields})
	}
	blocks := 0
	sendBlock := func(start object, deltas ...object) {
		send("content_block_start", object{"index": blocks, "content_block": start})
		for _, delta := range deltas {
			send("content_block_delta", object{"index": blocks, "delta": delta})
		}
		send("content_block_stop", object{"index": blocks})
		blocks++
	}
	send("message_start", object{"message": anthropicMessage(r, a, []object{}, nil)})
	if a.thinking != "" {
		sendBlock(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": a.thinking},
			object{"type": "signature_delta", "signature": a.thought()["signature"]})
	}
	if a.text != "" {
		sendBlock(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text})
	}
	for _, c := range a.calls {
		sendBlock(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(c.input)})
	}
	send("message_delta", object{
		"delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil},
		"usage": object{"output_tokens": a.usage.Output},
	})
	send("message_stop", object{})
	return events
}

func (anthropic) failure(e Error) any {
	return object{"type": "error", "error": object{"type": e.Type, "message": e.Message}}
}
