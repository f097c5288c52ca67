package hosts

import (
	"context"

	"flame/project"
)

// A Flame is what the hook of a host works with.
type Flame struct {
	Project *project.Project
	// OwnTool reports whether flame has a tool of exactly this name, without what a
	// host puts before it. It is asked only about calls that may be of such a tool.
	OwnTool func(name string) bool
}

// A Hook takes in one event of a host, a JSON document, and returns the answer that
// the host wants to it; empty where there is none. Events that it does not know
// mean nothing. An error is for the log: the host is never to fail for it.
type Hook func(ctx context.Context, flame Flame, event []byte) (answer []byte, err error)

// An EventDoc says what flame does with one kind of event of a host.
type EventDoc struct {
	Event string
	Tools string // a regular expression for the names of tools that it is about; empty: any, or none
	Does  string
}
