package model

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// A Request is one that a client sent for an answer.
type Request struct {
	Actor    string // who answered; empty: none matched
	Turn     int    // which of the actor's turns, from 0
	Kind     Kind
	Model    string
	Headers  http.Header // without credentials
	System   string
	Messages []Message
	Tools    []string // names offered, in order
	Stream   bool
	Bytes    int    // size of the body
	Session  string // as the client names it; empty if it does not
	Agent    string // a subagent in it, for clients whose subagents have no sessions of their own
	Refused  error  // by the rules

	Arrived, Answered time.Time // its head; the end of its answer, zero if the client left before
}

// A Message is one of a request's, of either API in one form.
type Message struct {
	Role    string // user, assistant, tool in OpenAI's API, system for what a client says in between
	Text    string
	Calls   []Tool   // of an assistant
	Results []string // texts of tools' results
}

// LastResult is the newest tool result in the conversation, empty without one.
func (r Request) LastResult() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if results := r.Messages[i].Results; len(results) > 0 {
			return results[len(results)-1]
		}
	}
	return ""
}

// Everything is all text of the conversation but the system's, a line for each
// text and each tool's result.
func (r Request) Everything() string {
	var texts []string
	for _, m := range r.Messages {
		texts = append(append(texts, m.Text), m.Results...)
	}
	return strings.Join(texts, "\n")
}

// FirstUser is the text of the first user message that has one.
func (r Request) FirstUser() string {
	for _, m := range r.Messages {
		if m.isUser() {
			return m.Text
		}
	}
	return ""
}

// LastUser is the text of the newest user message that has one.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].isUser() {
			return r.Messages[i].Text
		}
	}
	return ""
}

// Offered returns the full name of the tool that the client offered as name, or
// with a prefix before it.
func (r Request) Offered(name string) (string, bool) {
	for _, offered := range r.Tools {
		if offered == name || strings.HasSuffix(offered, "_"+name) {
			return offered, true
		}
	}
	return "", false
}

// conversation names the one that a request belongs to: a session's, or that of a
// subagent in it.
func (r Request) conversation() string {
	if r.Agent == "" {
		return r.Session
	}
	return r.Session + "/" + r.Agent
}

func (m Message) isUser() bool { return m.Role == "user" && m.Text != "" }

func (r Request) part(where Where) string {
	switch where {
	case FirstUser:
		return r.FirstUser()
	case System:
		return r.System
	default:
		return r.LastUser()
	}
}

var (
	asksTitle   = regexp.MustCompile(`(?i)title generator|generate a (brief|concise|short)[^.]* title|conversation title`)
	asksSummary = regexp.MustCompile(
		`(?i)anchored context summar|summarizing conversations|CRITICAL: Respond with TEXT ONLY|^# Summary of a flame frame|detailed summary of the conversation`,
	)
)

// kind recognises the requests that clients make beside the conversation.
// Claude Code asks for a summary in a user message, OpenCode in the system's.
func (r Request) kind() Kind {
	switch {
	case asksTitle.MatchString(r.System):
		return Title
	case asksSummary.MatchString(r.System), asksSummary.MatchString(r.LastUser()):
		return Compaction
	default:
		return Work
	}
}
