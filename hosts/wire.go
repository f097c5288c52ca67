package hosts

import (
	"net/http"

	"flame/core"
	"flame/core/op"
)

// A Wire is how a host speaks with its model, by the Messages API, so that a gateway can
// stand between them.
type Wire struct {
	// Asked returns what the headers of a request say about it.
	Asked func(http.Header) Asked
	// Own returns which of flame's operations a tool is; empty for the tools of others.
	Own func(tool string) op.Name
	// Said returns the user's words in a text that the host sends in a message of the
	// user's or of role system; empty if all of it is the host's own.
	Said func(text string, system bool) string
	// IsSummary reports whether a text of the user's is the result of a compaction.
	IsSummary func(text string) bool
	// Usage returns what an answer used, with its price: usage is as in its message, final
	// as at its end, if that is told apart.
	Usage func(model string, usage, final []byte) core.Usage
	// Prices returns what a token costs that the cache has, and one that is written into
	// it, for an hour or as usual, relative to one that it neither has nor gets; 0 if that is
	// not known.
	Prices func(model string, hour bool) (read, write float64)
}

// An Asked is what a request says about itself.
type Asked struct {
	Session string // of the host; empty if it does not say
	Agent   string // id of the native subagent that asks; empty for the session itself
	Class   Class
	Window  int // tokens that the model is to take; 0: as is usual
}

// A Class is what a request is for. Others than those below are possible.
type Class string

// The classes of requests.
const (
	Main       Class = "main"
	Subagent   Class = "subagent"
	Workflow   Class = "workflow"
	Compaction Class = "compaction" // it asks for a summary
	Auxiliary  Class = "auxiliary"  // beside the conversation
)

// Converses reports whether the request sends the conversation so far of whoever asks.
func (a Asked) Converses() bool {
	switch a.Class {
	case Main, Compaction:
		return true
	case Subagent, Workflow:
		return a.Agent != ""
	}
	return false
}
