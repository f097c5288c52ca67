package rules

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Items judges requests to OpenAI's Responses API whose client keeps the conversation, by the
// documented rules for items that belong together. It is safe for concurrent use.
type Items struct {
	mu     sync.Mutex
	led    map[string]string // by id of an item, the reasoning that led to it in its answer
	sealed map[string]bool   // encrypted contents of reasoning
}

// An Item is an item of a request or an answer, as far as rules read it.
type Item struct {
	Type   string `json:"type"`
	Role   string `json:"role"`
	ID     string `json:"id"`
	Call   string `json:"call_id"`
	Sealed string `json:"encrypted_content"`
}

// ofModel reports whether the model made an item, other than reasoning.
func (i Item) ofModel() bool {
	return i.Type == "function_call" || i.Type == "custom_tool_call" || i.Type == "message" && i.Role == "assistant"
}

// Answered notes the items of an answer.
func (r *Items) Answered(items []Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.led == nil {
		r.led, r.sealed = map[string]string{}, map[string]bool{}
	}
	reasoning := ""
	for _, i := range items {
		if i.Type == "reasoning" {
			reasoning, r.sealed[i.Sealed] = i.ID, true
		} else if reasoning != "" {
			r.led[i.ID] = reasoning
		}
	}
}

// Judge returns why the API refuses a body; nil if it accepts the body.
func (r *Items) Judge(body []byte) error {
	var in struct{ Input []Item }
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ids, calls, answered := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for n, i := range in.Input {
		switch {
		case i.ID != "" && ids[i.ID]:
			return fmt.Errorf("duplicate item found with id %s", i.ID)
		case i.Type == "reasoning" && !r.sealed[i.Sealed]:
			return fmt.Errorf("the encrypted content for item %s could not be verified", i.ID)
		case i.Type == "reasoning" && (n+1 == len(in.Input) || !in.Input[n+1].ofModel() && in.Input[n+1].Type != "reasoning"):
			return fmt.Errorf("item '%s' of type 'reasoning' was provided without its required following item", i.ID)
		case i.ofModel() && r.led[i.ID] != "" && !ids[r.led[i.ID]]:
			return fmt.Errorf("item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'", i.ID, i.Type, r.led[i.ID])
		case i.Type == "function_call" || i.Type == "custom_tool_call":
			calls[i.Call] = true
		case i.Type == "function_call_output" || i.Type == "custom_tool_call_output":
			if !calls[i.Call] || answered[i.Call] {
				return fmt.Errorf("no tool call found for function call output with call_id %s", i.Call)
			}
			answered[i.Call] = true
		}
		ids[i.ID] = true
	}
	for call := range calls {
		if !answered[call] {
			return fmt.Errorf("no tool output found for function call %s", call)
		}
	}
	return nil
}
