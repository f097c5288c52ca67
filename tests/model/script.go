// Package model is a scripted model server for tests: it speaks the Anthropic
// Messages API and the OpenAI chat-completions API, so that real agent clients
// can be driven on loopback, and records what they sent. It knows nothing of
// flame; package tests drives the hosts with it.
package model

import (
	"regexp"
	"time"
)

// A Script says what the model answers. The first actor that matches a request
// gives the turn; a request that none matches is answered with "ok", or with a
// title or summary where the client asks for that.
type Script []Actor

// An Actor answers the requests of one kind of conversation: turn after turn,
// counted separately for each session and each agent in it. After its last turn
// it says "done".
type Actor struct {
	Name  string         // for assertions
	Kind  Kind           // of requests it answers
	Where Where          // what Match looks at
	Match *regexp.Regexp // nil matches all
	Turns []Turn
}

// A Turn is one answer. The zero Turn says "ok".
type Turn struct {
	Thinking string // before all else; in Anthropic's API alone
	Text     string
	Tools    []Tool
	Usage    Usage
	Delay    time.Duration // before the answer
	Error    *Error        // instead of an answer
	// From makes the turn of the request at hand, for answers that depend on
	// what the client sent; the other fields are ignored then.
	From func(Request) Turn
}

// A Tool is a call that the model makes. Name is that of a tool the client
// offered, or the end of it: hosts put a server's name before a tool's.
type Tool struct {
	Name  string
	Input any // encoded as JSON; nil is {}
}

// Usage is what a turn is said to have cost, in tokens. Where Input or Output is
// zero it is estimated from the size of request and answer. Caches are
// Anthropic's.
type Usage struct {
	Input, Output           int
	CacheRead               int
	Cached5m, CachedForHour int // put into the cache, for 5 minutes and for an hour
}

// An Error is a failure of the model's API.
type Error struct {
	Status  int // HTTP
	Type    string
	Message string
}

// A Kind says what a client wants with a request.
type Kind int

// The kinds told apart, by what the clients write into them.
const (
	Work       Kind = iota // the conversation itself
	Title                  // a title for the session
	Compaction             // a summary of the conversation so far
)

// A Where names the part of a request that an actor looks at.
type Where int

// The parts of a request.
const (
	LastUser Where = iota // text of the newest user message
	FirstUser
	System
)
