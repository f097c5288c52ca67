package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"flame/agents/converge"
	"flame/core"
)

// Trajectory returns what the agents of a convergence said, called and went
// through, one per line, with the conflicts in their places.
func Trajectory(entries []converge.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		at := e.TS.Time().Local().Format(time.DateTime)
		if e.Conflict != nil {
			fmt.Fprintf(&b, "%s CONFLICT %s between %s\n", at, e.Conflict.ID, strings.Join(e.Conflict.SubagentIDs, ", "))
			continue
		}
		fmt.Fprintf(&b, "%s %s %s\n", at, e.SubagentID, core.OneLine(entryText(e), maxEntry))
	}
	return b.String()
}

// maxEntry is the length in characters to which an entry of a trajectory is
// cut.
const maxEntry = 160

// entryText returns what an agent said, called or went through.
func entryText(e converge.Entry) string {
	switch {
	case e.Event != nil:
		return eventText(*e.Event)
	case e.Said.Type == core.PartToolCall:
		return e.Said.Tool + " " + subject(e.Said.Input)
	}
	return "says: " + e.Said.Text
}

// A telling is a field of an event's data with the words that precede it.
type telling struct{ words, field string }

// tellings says what events of a trajectory mean, in words. A field that is
// empty or missing is left out.
var tellings = sync.OnceValue(func() map[string][]telling {
	return map[string][]telling{
		core.SubagentSpawned: {{"started as ", "agent_type"}, {": ", "description"}},
		core.SubagentRetry:   {{"retried: ", "reason"}},
		core.FrameUpdated:    {{"goal: ", "goal"}, {"done means: ", "successCriteria"}, {"artifact: ", "artifacts"}, {"decision: ", "decisions"}},
		core.SubagentStop:    {{"ended ", "state"}, {": ", "stop_reason"}, {": ", "error"}},
	}
})

func eventText(e core.Event) string {
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data) // a value that is not an object has no fields
	text := ""
	for _, t := range tellings()[e.Event] {
		if value, ok := data[t.field].(string); ok && value != "" {
			text += t.words + value
		}
	}
	return cmp.Or(text, e.Event)
}

// subjects are the argument names under which tools take their subject, the
// most telling first.
var subjects = []string{"file_path", "filePath", "notebook_path", "command", "pattern", "path", "url", "query", "description", "prompt"}

// subject returns what a call is about: a file, a command, or else its whole
// input.
func subject(input json.RawMessage) string {
	var values map[string]any
	_ = json.Unmarshal(input, &values) // as in eventText
	for _, name := range subjects {
		if value, ok := values[name].(string); ok && value != "" {
			return value
		}
	}
	return string(input)
}
