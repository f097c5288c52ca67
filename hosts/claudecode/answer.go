package claudecode

import "encoding/json"

// An answer is what a hook returns to Claude Code. Its zero value says nothing.
type answer struct {
	text   string // plain, if the event wants that
	fields output
}

// output is the answer of most events (fields as in the client's own schema).
type output struct {
	Event      string                     `json:"hookEventName"`
	Context    string                     `json:"additionalContext,omitempty"`
	Permission string                     `json:"permissionDecision,omitempty"`
	Reason     string                     `json:"permissionDecisionReason,omitempty"`
	Input      map[string]json.RawMessage `json:"updatedInput,omitempty"`
}

// encode returns the bytes for stdout, or nil if there is nothing to say.
func (a answer) encode(event string) ([]byte, error) {
	out := a.fields
	switch {
	case a.text != "":
		return []byte(a.text), nil
	case out.Context == "" && out.Permission == "" && out.Input == nil:
		return nil, nil
	}
	out.Event = event
	return json.Marshal(map[string]output{"hookSpecificOutput": out})
}

// changed returns a tool's input with some arguments set.
func changed(input json.RawMessage, set map[string]string) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(input) > 0 {
		if err := json.Unmarshal(input, &fields); err != nil {
			return nil, err
		}
	}
	for name, value := range set {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = raw
	}
	return fields, nil
}
