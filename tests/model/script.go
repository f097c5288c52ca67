// Package model is a scripted model server for tests: it speaks the Anthropic Messages API, the
// Responses API of OpenAI and the generateContent API of Google, so that tests can drive real agent
// clients on loopback, and records their requests. It knows nothing of flame; package tests drives
// the hosts with it.
package model

import (
	"regexp"
	"time"
)

// A Script determines the model's answers. The first actor that matches a request gives the turn.
// Without a match the answer is "ok", or a title or summary if the client asks for that.
type Script []Actor

// An Actor answers the requests of one kind of conversation: turn after turn, counted separately
// for each session and each agent in it. After its last turn it says "done".
type Actor struct {
	Name  string         // for assertions
	Kind  Kind           // of requests it answers
	Where Where          // the part that Match reads
	Match *regexp.Regexp // nil matches all
	Turns []Turn
}

// A Turn is one answer. The zero Turn says "ok".
type Turn struct {
	Thinking string // before all else; in Anthropic's API and the Responses API
	Text     string
	Tools    []Tool
	Usage    Usage
	Delay    time.Duration // before the answer
	Error    *Error        // instead of an answer
	// From makes the turn for the current request, for answers that depend on the client's text;
	// the other fields are ignored then.
	From func(Request) Turn
}

// A Tool is a call that the model makes. Name is the name of an offered tool, or the end of it:
// hosts put a server's name before a tool's.
type Tool struct {
	Name  string
	Input any // encoded as JSON; nil is {}
}

// A Detour is how the model reaches a tool that the client does not offer: by a call of another
// tool. With Again the model then repeats its turn.
type Detour struct {
	Tool  Tool
	Again bool
}

// Usage is the reported cost of a turn, in tokens. If Input or Output is zero, the server
// estimates it from the size of request and answer. Caches are Anthropic's.
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

// A Kind is the purpose of a request.
type Kind int

// The kinds, recognised by the clients' texts.
const (
	Work       Kind = iota // the conversation itself
	Title                  // a title for the session
	Compaction             // a summary of the conversation so far
)

// A Where names the part of a request that an actor reads.
type Where int

// The parts of a request.
const (
	LastUser Where = iota // text of the newest user message
	FirstUser
)
