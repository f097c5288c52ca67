package model

import (
	"encoding/json"
	"strings"

	"flame/tests/model/rules"
)

// responses is OpenAI's Responses API, as Codex uses it: tools of servers are in namespaces.
type responses struct{}

// parted separates a namespace from the name of a tool in it.
const parted = "__"

func parseResponses(body []byte) (Request, error) {
	var in struct {
		Model, Instructions string
		Stream              bool
		Input               []struct {
			Type, Role, Name, Namespace, Arguments string
			Content, Output                        content
		}
		Tools []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, Stream: in.Stream, System: in.Instructions}
	for _, item := range in.Input {
		switch {
		case item.Type == "function_call":
			called := Tool{Name: item.Namespace + parted + item.Name, Input: json.RawMessage(item.Arguments)}
			req.Messages = append(req.Messages, Message{Role: "assistant", Calls: []Tool{called}})
		case item.Type == "function_call_output":
			req.Messages = append(req.Messages, Message{Role: "tool", Results: []string{item.Output.text()}})
		case item.Role == "developer", item.Role == "user" && strings.HasPrefix(item.Content.text(), "<"): // Codex's own words
			req.Messages = append(req.Messages, Message{Role: "system", Text: item.Content.text()})
		case item.Role != "":
			req.Messages = append(req.Messages, Message{Role: item.Role, Text: item.Content.text()})
		}
	}
	for _, tool := range in.Tools {
		if tool.Type != "namespace" {
			req.Tools = append(req.Tools, tool.Name)
		}
		for _, inside := range tool.Tools {
			req.Tools = append(req.Tools, tool.Name+parted+inside.Name)
		}
	}
	return req, nil
}

func (responses) items(a answer) (items []object) {
	if a.thinking != "" {
		summary := object{"type": "summary_text", "text": a.thinking}
		items = append(items, object{"type": "reasoning", "id": "rs_" + a.id, "summary": []object{summary}, "encrypted_content": "sealed-" + a.id})
	}
	if a.text != "" {
		text := object{"type": "output_text", "text": a.text, "annotations": []any{}}
		items = append(items, object{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed", "content": []object{text}})
	}
	for _, c := range a.calls {
		item := object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name, "arguments": string(c.input), "status": "completed"}
		if i := strings.LastIndex(c.name, parted); i >= 0 {
			item["namespace"], item["name"] = c.name[:i], c.name[i+len(parted):]
		}
		items = append(items, item)
	}
	return items
}

// itemsOf returns the items of an answer, as rules read them.
func itemsOf(a answer) (items []rules.Item) {
	text := func(value any) string { s, _ := value.(string); return s }
	for _, i := range (responses{}).items(a) {
		items = append(items, rules.Item{
			Type: text(i["type"]), Role: text(i["role"]), ID: text(i["id"]), Call: text(i["call_id"]), Sealed: text(i["encrypted_content"]),
		})
	}
	return items
}

func (d responses) whole(r Request, a answer) any {
	prompt := a.usage.Input + a.usage.CacheRead + a.usage.Cached5m
	return object{
		"id": "resp_" + a.id, "object": "response", "model": r.Model, "status": "completed", "output": d.items(a),
		"usage": object{
			"input_tokens":         prompt,
			"input_tokens_details": object{"cached_tokens": a.usage.CacheRead, "cache_write_tokens": a.usage.Cached5m},
			"output_tokens":        a.usage.Output, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": prompt + a.usage.Output,
		},
	}
}

func (d responses) events(r Request, a answer) (events []event) {
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, len(events)
		events = append(events, event{name: kind, data: data})
	}
	send("response.created", object{"response": object{"id": "resp_" + a.id, "status": "in_progress", "output": []any{}}})
	for i, item := range d.items(a) {
		send("response.output_item.added", object{"output_index": i, "item": item})
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": d.whole(r, a)})
	return events
}

func (responses) failure(e Error) any {
	return object{"error": object{"type": e.Type, "message": e.Message}}
}
