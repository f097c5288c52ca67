package model

import (
	"encoding/json"
	"strings"
	"time"
)

// openAI is the chat-completions API.
type openAI struct{}

func parseOpenAI(body []byte) (Request, error) {
	var in struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role      string
			Content   content
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, Stream: in.Stream}
	var system []string
	for _, m := range in.Messages {
		message := Message{Role: m.Role, Text: m.Content.text()}
		for _, c := range m.ToolCalls {
			message.Calls = append(message.Calls, Tool{Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments)})
		}
		switch m.Role {
		case "system", "developer":
			system = append(system, message.Text)
			continue
		case "tool":
			message.Text, message.Results = "", []string{message.Text}
		}
		req.Messages = append(req.Messages, message)
	}
	req.System = strings.Join(system, "\n")
	for _, tool := range in.Tools {
		req.Tools = append(req.Tools, tool.Function.Name)
	}
	return req, nil
}

func (openAI) whole(r Request, a answer) any {
	message := object{"role": "assistant", "content": a.text}
	if len(a.calls) > 0 {
		message["tool_calls"] = a.openAICalls()
	}
	return a.completion(r, "chat.completion", object{"message": message, "finish_reason": a.finishReason()})
}

func (a answer) completion(r Request, kind string, choice object) object {
	choice["index"] = 0
	return object{
		"id": "chatcmpl-" + a.id, "object": kind, "created": time.Now().Unix(), "model": r.Model, "choices": []object{choice},
		"usage": object{
			"prompt_tokens": a.usage.Input, "completion_tokens": a.usage.Output,
			"total_tokens": a.usage.Input + a.usage.Output,
		},
	}
}

func (a answer) openAICalls() []object {
	calls := []object{}
	for i, c := range a.calls {
		calls = append(calls, object{
			"index": i, "id": c.id, "type": "function",
			"function": object{"name": c.name, "arguments": string(c.input)},
		})
	}
	return calls
}

func (a answer) finishReason() string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (openAI) events(r Request, a answer) []event {
	var events []event
	send := func(delta object, finish any) {
		chunk := a.completion(r, "chat.completion.chunk", object{"delta": delta, "finish_reason": finish})
		if finish == nil {
			delete(chunk, "usage") // reported once, at the end
		}
		events = append(events, event{data: chunk})
	}
	if a.text != "" {
		send(object{"role": "assistant", "content": a.text}, nil)
	}
	for _, c := range a.openAICalls() {
		send(object{"role": "assistant", "tool_calls": []object{c}}, nil)
	}
	send(object{}, a.finishReason())
	return append(events, event{data: "[DONE]"})
}

func (openAI) failure(e Error) any {
	return object{"error": object{"type": e.Type, "message": e.Message}}
}
