// Package hooks is what hosts share that report an event as one JSON document and read the answer
// as another: the members that they all use, one table of what each event means, and what flame
// does with the events that mean the same in all of them.
package hooks

import (
	"encoding/json"
	"errors"
)

// An Event is what a host sends a hook, as far as all such hosts say it. A host's own event embeds
// it.
type Event struct {
	Name        string          `json:"hook_event_name"`
	Session     string          `json:"session_id"`
	Transcript  string          `json:"transcript_path"`
	Folder      string          `json:"cwd"`
	Prompt      string          `json:"prompt"`
	Agent       string          `json:"agent_id"` // of the subagent it happened in; empty in the session itself
	AgentType   string          `json:"agent_type"`
	AgentLog    string          `json:"agent_transcript_path"`
	Mode        string          `json:"permission_mode"`
	Tool        string          `json:"tool_name"`
	Call        string          `json:"tool_use_id"`
	Input       json.RawMessage `json:"tool_input"`
	Response    json.RawMessage `json:"tool_response"`
	LastMessage string          `json:"last_assistant_message"`
	Source      string          `json:"source"`           // of a start: startup, resume, clear or compact
	Trigger     string          `json:"trigger"`          // of a compaction: manual or auto
	GoesOn      bool            `json:"stop_hook_active"` // the turn had ended before, and a hook of the user's had it go on
}

// Decode reads what it can of an event into e, which embeds known: a member of an unexpected type
// stays empty and does not affect the others.
func Decode(raw []byte, e any, known *Event) error {
	err := json.Unmarshal(raw, e)
	if wrongType := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrongType) && known.Name != "" {
		return nil
	}
	return err
}

// A Source is where events come from.
type Source struct {
	Host   string // its name
	Plugin string // version of flame's plugin that the host runs this hook for; empty: unknown
	Agent  string // id of the agent in whose process the event happened; empty outside of agents
}

// An Answer is what a hook returns to its host. Its zero value says nothing.
type Answer struct {
	Text   string // plain, if the event wants that
	Fields Output
}

// An Output is the answer to most events.
type Output struct {
	Event      string                     `json:"hookEventName"`
	Context    string                     `json:"additionalContext,omitempty"`
	Permission string                     `json:"permissionDecision,omitempty"`
	Reason     string                     `json:"permissionDecisionReason,omitempty"`
	Input      map[string]json.RawMessage `json:"updatedInput,omitempty"`
	Instead    map[string]json.RawMessage `json:"tool_input,omitempty"` // the same by another name
}

// encode returns the bytes for stdout, or nil if there is nothing to say.
func (a Answer) encode(event string) ([]byte, error) {
	out := a.Fields
	switch {
	case a.Text != "":
		return []byte(a.Text), nil
	case out.Context == "" && out.Permission == "" && out.Input == nil && out.Instead == nil:
		return nil, nil
	}
	out.Event = event
	return json.Marshal(map[string]Output{"hookSpecificOutput": out})
}

// WithArguments returns a tool's input with some arguments set, and without those that are set to "".
func WithArguments(input json.RawMessage, set map[string]string) (fields map[string]json.RawMessage, err error) {
	if len(input) > 0 {
		if err := json.Unmarshal(input, &fields); err != nil {
			return nil, err
		}
	}
	if fields == nil { // the input is null
		fields = map[string]json.RawMessage{}
	}
	for name, value := range set {
		if value == "" {
			delete(fields, name)
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = raw
	}
	return fields, nil
}

// Unstamped returns a tool's input without the arguments in which a model may have named a caller,
// and reports whether it had any.
func Unstamped(input json.RawMessage) (fields map[string]json.RawMessage, had bool) {
	fields, err := WithArguments(input, nil)
	all := len(fields)
	for name := range NoStamp() {
		delete(fields, name)
	}
	return fields, err == nil && len(fields) < all
}
