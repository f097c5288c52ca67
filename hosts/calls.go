package hosts

import "encoding/json"

// Calls say how a host reports events by calling a tool of the server that its session
// runs, instead of starting flame hook for each.
type Calls struct {
	// Tool is the name of the tool, which stands in no list.
	Tool string
	// Event returns the event of a call, as Hook takes it, and the folder that it happened
	// in; empty if the call does not say. Arguments of an unexpected type are left out.
	Event func(arguments json.RawMessage) (event []byte, folder string, err error)
	// Silence returns what the host takes for an answer that says nothing.
	Silence func(event []byte) string
}
