package model

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Request is a client's request for an answer.
type Request struct {
	Actor    string // the actor that answered; empty: none matched
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
	Searches bool   // the answer looks for a tool that the next answer calls

	Arrived, Answered time.Time // its head; the end of its answer, zero if the client left before
}

// A Message is a message of a request, in one form for both APIs.
type Message struct {
	Role    string // user, assistant, tool in OpenAI's API, system for the client's own messages in between
	Text    string
	Calls   []Tool   // of an assistant
	Results []string // texts of tools' results
}

// LastResult returns the newest tool result in the conversation that has a text, empty without
// one. The result of a search for tools has none.
func (r Request) LastResult() string {
	for _, m := range slices.Backward(r.Messages) {
		for _, result := range slices.Backward(m.Results) {
			if result != "" {
				return result
			}
		}
	}
	return ""
}

// Everything returns all text of the conversation except the system's, a line for each text and
// each tool's result.
func (r Request) Everything() string {
	var texts []string
	for _, m := range r.Messages {
		texts = append(append(texts, m.Text), m.Results...)
	}
	return strings.Join(texts, "\n")
}

// FirstUser returns the text of the first user message that has one.
func (r Request) FirstUser() string {
	for _, m := range r.Messages {
		if m.isUser() {
			return m.Text
		}
	}
	return ""
}

// LastUser returns the text of the newest user message that has one.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].isUser() {
			return r.Messages[i].Text
		}
	}
	return ""
}

// Offered returns the full name of the tool that the client offered as name, or with a prefix
// before it.
func (r Request) Offered(name string) (string, bool) {
	for _, offered := range r.Tools {
		if offered == name || strings.HasSuffix(offered, "_"+name) {
			return offered, true
		}
	}
	return "", false
}

// conversation names the conversation of a request: a session's, or that of a subagent in it.
func (r Request) conversation() string {
	if r.Agent == "" {
		return r.Session
	}
	return r.Session + "/" + r.Agent
}

func (m Message) isUser() bool { return m.Role == "user" && m.Text != "" }

func (r Request) part(where Where) string {
	if where == FirstUser {
		return r.FirstUser()
	}
	return r.LastUser()
}

var (
	asksTitle   = regexp.MustCompile(`(?i)title generator|generate a (brief|concise|short)[^.]* title|conversation title`)
	asksSummary = regexp.MustCompile(
		`CONTEXT CHECKPOINT COMPACTION|(?i)anchored context summar|context summarization agent|summarizing conversations|CRITICAL: Respond with TEXT ONLY|` +
			`^# Summary of a flame frame|distilling chat history|detailed summary of the conversation`,
	)
)

// kind recognises the requests that clients make beside the conversation. Claude Code asks for a
// summary in a user message, OpenCode in the system's.
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
