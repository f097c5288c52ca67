package hosts

import (
	"context"

	"flame/project"
)

// A Hook takes in one event of a host, a JSON document, and gives the answer that
// the host wants to it; empty where there is none. Events that it does not know
// mean nothing. An error is for the log: the host is never to fail for it.
type Hook func(ctx context.Context, p *project.Project, event []byte) (answer []byte, err error)

// An EventDoc says what flame does with one kind of event of a host.
type EventDoc struct {
	Event string
	Tools string // a regular expression for the names of tools that it is about; empty: any, or none
	Does  string
}
