package codec

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
)

// A Kind is what a part of a message holds.
type Kind int

// The kinds of parts. A message with an unknown part stays as it is.
const (
	Unknown Kind = iota
	Words
	Thought
	Media // a picture or a document; only users send these
	Calls
	Results
)

// A Message is a message of a request, for APIs whose messages have parts.
type Message struct {
	Raw    string
	Role   core.Role // RoleOther for a message of the host's own
	Parts  []Part
	Listed bool // the parts are a list rather than a text
	List   Span // of the parts, in Raw
}

// A Part is a part of a message.
type Part struct {
	Raw       string
	Kind      Kind
	ID        string // of a call, or of the call that a result answers
	Made      bool   // flame made the id, as the part has none: the same one is in other messages
	Tool      string // of a call
	Text      string
	Signature string        // of a thought, or of the thought before the part
	Input     gjson.Result  // of a call
	Content   gjson.Result  // of a result
	Failed    bool          // the result is an error
	Said      func() string // returns the text of a result
	Tokens    int           // estimated; of a thought none
}

// Of returns the parts of a kind.
func (m *Message) Of(k Kind) (parts []*Part) {
	for i := range m.Parts {
		if m.Parts[i].Kind == k {
			parts = append(parts, &m.Parts[i])
		}
	}
	return parts
}

// History returns messages in the form that folding reads, and the names that it gave. They have no
// times. An answer has all of its words.
func History(messages []Message, w *hosts.GatewaySpec) (history []fold.Message, names MessageNames) {
	history = make([]fold.Message, len(messages))
	for i := range messages {
		m := &messages[i]
		f := fold.Message{Role: m.Role, Tokens: m.tokens()}
		switch m.Role {
		case core.RoleAssistant:
			m.describeAnswer(&f, resultsAfter(messages, i), w, &names)
		case core.RoleUser:
			m.describeUser(&f, w, &names)
		default:
			f.FromHost, f.UserWords = true, m.said(w, true)
			f.Name = names.Next("h", Digest(m.texts()))
		}
		f.Open = f.Open || len(m.Of(Unknown)) > 0
		history[i] = f
		if m.Role == core.RoleUser && !f.IsToolResult && i > 0 && len(m.Of(Results)) > 0 { // the user's words beside the results bind the calls
			history[i-1].Open = true
		}
	}
	return history, names
}

// resultsAfter returns the results of the calls of message i, by their ids.
func resultsAfter(messages []Message, i int) map[string]*Part {
	results := map[string]*Part{}
	if i+1 < len(messages) {
		for _, p := range messages[i+1].Of(Results) {
			results[p.ID] = p
		}
	}
	return results
}

// describeAnswer fills in the words, calls and moves of an answer.
func (m *Message) describeAnswer(f *fold.Message, results map[string]*Part, w *hosts.GatewaySpec, names *MessageNames) {
	var calls []Call
	first := ""
	for _, p := range m.Of(Calls) {
		call := Call{ID: p.ID, Tool: p.Tool, Input: p.Input}
		if len(calls) == 0 {
			first = p.ID
		}
		if p.Made {
			call.ID = ""
		}
		if r := results[p.ID]; r != nil {
			call.Result = &Result{Failed: r.Failed, Tokens: r.Tokens, Said: r.Said}
		}
		calls = append(calls, call)
	}
	var signatures strings.Builder
	for i := range m.Parts {
		signatures.WriteString(m.Parts[i].Signature)
	}
	f.Text = m.texts()
	f.Name = names.Answer(len(calls) > 0, first, Digest(f.Text), Digest(signatures.String()))
	Describe(f, calls, w)
}

// describeUser fills in who speaks in a message of role user.
func (m *Message) describeUser(f *fold.Message, w *hosts.GatewaySpec, names *MessageNames) {
	said, results, shows := m.said(w, false), m.Of(Results), len(m.Of(Media)) > 0
	switch {
	case len(results) > 0:
		f.Name, f.IsToolResult = names.Call("r", results[0].ID), said == "" && !shows
	case said != "":
		f.Name = names.Next("u", Digest(said))
	default:
		f.Name, f.FromHost = names.Next("u", Digest(m.texts())), !shows
	}
	f.Summary = len(results) == 0 && slices.ContainsFunc(m.Of(Words), func(p *Part) bool { return w.IsSummary(p.Text) })
}

// said returns the user's words in a message.
func (m *Message) said(w *hosts.GatewaySpec, system bool) string {
	var all []string
	for _, p := range m.Of(Words) {
		if said := w.UserWords(p.Text, system); said != "" {
			all = append(all, said)
		}
	}
	return strings.Join(all, "\n")
}

// texts returns all words of a message, without thoughts.
func (m *Message) texts() string {
	var all strings.Builder
	for _, p := range m.Of(Words) {
		all.WriteString(p.Text)
	}
	return all.String()
}

func (m *Message) tokens() (tokens int) {
	for i := range m.Parts {
		tokens += m.Parts[i].Tokens
	}
	return max(1, tokens)
}
