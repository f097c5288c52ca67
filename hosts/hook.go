package hosts

import (
	"context"

	"flame/project"
	"flame/project/turns"
)

// A Flame is what a host's hook works with.
type Flame struct {
	Project *project.Project
	Agent   string       // id of the agent in whose process the event happened; empty outside of agents
	Marks   []turns.Mark // of the event, if it may come again
	// OwnTool reports whether flame has a tool of exactly this name, without
	// the host's prefix. It is called only for calls that may be of such a
	// tool.
	OwnTool func(name string) bool
}

// A Hook handles one event of a host, a JSON document, and returns the answer
// that the host expects, or nothing. It ignores events that it does not know.
// An error is for the log: the host must never fail because of it. If the error
// is core.ErrUnavailable, the event is to be told again later; an answer beside
// it tells of nothing that was to be kept.
type Hook func(ctx context.Context, flame Flame, event []byte) (answer []byte, err error)

// An EventDoc says what flame does with one kind of event of a host.
type EventDoc struct {
	Event string
	Tools string // a regular expression for the names of the tools concerned; empty: any, or none
	Does  string
	By    string // how it reaches flame; empty: as all of the host's do
}
