package claudecode

import (
	"encoding/json"
	"reflect"

	"flame/hosts"
)

// callTool is the tool that hooks of type mcp_tool call. No list names it, and
// Claude Code refuses a model that guesses its name (observed).
const callTool = "hook"

// calls say how Claude Code calls that tool.
func calls() *hosts.Calls {
	return &hosts.Calls{Tool: callTool, Event: calledEvent, Silence: silence}
}

// A field is one field of an event.
type field struct {
	name string // in JSON
	text bool   // it is a string; others come as their JSON in a string
}

// fields lists the fields of an event that flame reads. A hook of type mcp_tool must name
// each one that it passes on.
func fields() []field { return fieldsOf(reflect.TypeFor[event]()) }

func fieldsOf(object reflect.Type) (list []field) {
	for _, f := range reflect.VisibleFields(object) {
		if name := f.Tag.Get("json"); name != "" {
			list = append(list, field{name, f.Type.Kind() == reflect.String})
		}
	}
	return list
}

// The fields of a tool's call and of its answer.
const (
	inputField    = "tool_input"
	responseField = "tool_response"
)

// callInput is the input of such a hook: for each field a placeholder, which Claude Code
// replaces by a string (observed): that of a string field as it is, others' as compact
// JSON, and an empty one for a field that the event does not have.
func callInput() map[string]any {
	input := map[string]any{}
	for _, f := range fields() {
		input[f.name] = placeholder(f.name)
	}
	return input
}

// fileInput is callInput for a tool that writes a file: of the call it passes on the names
// alone. The file itself stands in the call, and again in the answer.
func fileInput() map[string]any {
	input, names := callInput(), map[string]string{}
	for _, f := range fieldsOf(reflect.TypeFor[fileCall]()) {
		names[f.name] = placeholder(inputField + "." + f.name)
	}
	input[inputField] = names
	delete(input, responseField)
	return input
}

func placeholder(name string) string { return "${" + name + "}" }

// calledEvent returns the event of a call.
func calledEvent(arguments json.RawMessage) (event []byte, folder string, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, "", err
	}
	had := map[string]json.RawMessage{}
	for _, f := range fields() {
		var value string
		switch err := json.Unmarshal(given[f.name], &value); {
		case f.name == inputField && err != nil && len(given[f.name]) > 0:
			had[f.name] = given[f.name] // of fileInput
		case err != nil || value == "" || value == placeholder(f.name):
		case f.text || !json.Valid([]byte(value)):
			had[f.name] = given[f.name]
		default:
			had[f.name] = json.RawMessage(value)
		}
	}
	_ = json.Unmarshal(had["cwd"], &folder) // of the wrong type: not said
	event, err = json.Marshal(had)
	return event, folder, err
}

// silence returns an answer that says nothing. Claude Code shows the model an empty one as
// a success, and adds any other to the instructions for a summary (observed).
func silence(raw []byte) string {
	if e, err := decodeEvent(raw); err == nil && e.Name == "PreCompact" {
		return ""
	}
	return "{}"
}
