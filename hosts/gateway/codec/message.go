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
	unknown Kind = iota
	words
	thoughts
	media // a picture or a document; only users send these
	calls
	results
	summaries // of compactions
)

// A Message is what folding takes for one in a request.
type Message struct {
	Role    core.Role // RoleOther for a message of the host's own
	Parts   []Part
	Results bool         // it answers calls
	Raw     string       // empty: its parts are elements of the request's list themselves
	List    gjson.Result // of the parts, in Raw; a text is no list
}

// A Part is a part of a message.
type Part struct {
	Raw       string
	Kind      Kind
	Others    bool   // the model did not make it, though it may stand within an answer
	System    bool   // no words of the user's are in it
	Shows     bool   // there are pictures or documents in it
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

// of returns the parts of a kind.
func (m *Message) of(k Kind) (parts []*Part) {
	for i := range m.Parts {
		if m.Parts[i].Kind == k {
			parts = append(parts, &m.Parts[i])
		}
	}
	return parts
}

// elements returns the message as elements of the request's list.
func (m *Message) elements() []string {
	if m.Raw != "" {
		return []string{m.Raw}
	}
	all := make([]string, len(m.Parts))
	for i := range m.Parts {
		all[i] = m.Parts[i].Raw
	}
	return all
}

// History returns the messages in the form that folding reads. They have no times.
func (r *Request) History(w *hosts.GatewaySpec) []fold.Message {
	history, ends := make([]fold.Message, len(r.messages)), r.ends()
	r.names = MessageNames{}
	for i := range r.messages {
		m := &r.messages[i]
		f := fold.Message{Role: m.Role, Open: !m.isWhole(i, ends), Tokens: m.tokens()}
		switch m.Role {
		case core.RoleAssistant:
			m.describeAnswer(&f, r.resultsAfter(i), r.api.joined, w, &r.names)
		case core.RoleUser:
			m.describeUser(&f, r.api.joined, w, &r.names)
		default:
			f.FromHost, f.UserWords = true, m.said(w)
			f.Name = r.names.next("h", digest(m.texts()))
		}
		history[i] = f
		if m.Results && (f.Open && m.Raw == "" || !f.IsToolResult) && i > 0 { // what stays beside results binds the calls
			history[i-1].Open = true
		}
	}
	return history
}

// ends are the messages that have the two ends of a call, by its id.
type ends struct{ calls, results []int }

func (r *Request) ends() map[string]ends {
	all := map[string]ends{}
	for n := range r.messages {
		for i := range r.messages[n].Parts {
			p := &r.messages[n].Parts[i]
			e := all[p.ID]
			switch p.Kind {
			case calls:
				e.calls = append(e.calls, n)
			case results:
				e.results = append(e.results, n)
			default:
				continue
			}
			all[p.ID] = e
		}
	}
	return all
}

// isWhole reports whether flame knows all parts of message n. If they are elements of the request's list, it
// also reports whether the next message answers its calls, or the one before made the calls that it answers:
// both stay or go together.
func (m *Message) isWhole(n int, all map[string]ends) bool {
	return !slices.ContainsFunc(m.Parts, func(p Part) bool {
		e := all[p.ID]
		switch p.Kind {
		case unknown:
			return true
		case calls, results:
			return m.Raw == "" && (p.ID == "" || len(e.calls) != 1 || len(e.results) != 1 || e.results[0] != e.calls[0]+1)
		}
		return false
	})
}

// resultsAfter returns the results of the calls of message i, by their ids.
func (r *Request) resultsAfter(i int) map[string]*Part {
	all := map[string]*Part{}
	if i+1 < len(r.messages) {
		for _, p := range r.messages[i+1].of(results) {
			all[p.ID] = p
		}
	}
	return all
}

// describeAnswer fills in the words, calls and moves of an answer.
func (m *Message) describeAnswer(f *fold.Message, after map[string]*Part, joined bool, w *hosts.GatewaySpec, names *MessageNames) {
	var made []Call
	var said, signatures strings.Builder
	first := ""
	for i := range m.Parts {
		p := &m.Parts[i]
		signatures.WriteString(p.Signature)
		switch {
		case p.Kind == words && p.Others: // within the answer
			f.Open = f.Open || w.UserWords(p.Text, p.System) != "" || p.Shows && !p.System || m.lasts(w, p)
		case p.Kind == words:
			said.WriteString(p.Text)
			f.Text = p.Text
		case p.Kind == calls:
			call := Call{ID: p.ID, Tool: p.Tool, Input: p.Input}
			if len(made) == 0 {
				first = p.ID
			}
			if p.Made {
				call.ID = ""
			}
			if r := after[p.ID]; r != nil {
				call.Result = &Result{Failed: r.Failed, Tokens: r.Tokens, Said: r.Said}
			}
			made = append(made, call)
		}
	}
	if joined {
		f.Text = said.String()
	}
	f.Name = names.answer(len(made) > 0, first, digest(said.String()), digest(signatures.String()))
	Describe(f, made, w)
}

// lasts reports whether a text of the host's own stays when the work around it goes.
func (m *Message) lasts(w *hosts.GatewaySpec, p *Part) bool {
	return w.KeepsText != nil && w.KeepsText(p.Text)
}

// describeUser fills in who speaks in a message of role user.
func (m *Message) describeUser(f *fold.Message, joined bool, w *hosts.GatewaySpec, names *MessageNames) {
	said, answers, texts := m.said(w), m.of(results), m.of(words)
	shows := slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Shows && !p.System })
	switch {
	case len(answers) > 0:
		f.Name, f.IsToolResult = names.call("r", answers[0].ID), said == "" && !shows
	case said != "", shows && m.Raw == "":
		f.Name = names.next("u", digest(said))
	case m.Raw == "":
		f.Name, f.FromHost = names.next("h", digest(m.texts()+m.Parts[0].Signature)), true
	default:
		f.Name, f.FromHost = names.next("u", digest(m.texts())), !shows
	}
	f.Open = f.Open || (f.IsToolResult || f.FromHost) && slices.ContainsFunc(texts, func(p *Part) bool { return m.lasts(w, p) })
	if !joined && m.Raw != "" {
		texts = texts[:min(len(texts), 1)]
	}
	isSummary := func(p *Part) bool { return !p.System && w.IsSummary(p.Text) }
	f.Summary = (len(answers) == 0 || m.Raw == "") && slices.ContainsFunc(texts, isSummary) || len(m.of(summaries)) > 0
}

// said returns the user's words in a message.
func (m *Message) said(w *hosts.GatewaySpec) string {
	var all []string
	for _, p := range m.of(words) {
		if said := w.UserWords(p.Text, p.System); said != "" {
			all = append(all, said)
		}
	}
	return strings.Join(all, "\n")
}

// texts returns all words of a message, without thoughts.
func (m *Message) texts() string {
	var all strings.Builder
	for _, p := range m.of(words) {
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
