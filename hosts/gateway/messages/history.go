package messages

import (
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/dialect"
)

// History returns the request's messages in the form that folding reads. They have no times.
func (r *request) History(w *hosts.Wire) []fold.Message {
	history := make([]fold.Message, len(r.messages))
	r.names = dialect.Names{}
	for i := range r.messages {
		m := &r.messages[i]
		f := fold.Message{Role: m.role, Tokens: m.tokens()}
		switch m.role {
		case core.RoleAssistant:
			m.describeAnswer(&f, r.after(i), w, &r.names)
		case core.RoleUser:
			m.describeUser(&f, w, &r.names)
		default:
			f.Host, f.Said = true, m.said(w, true)
			f.Name = r.names.Next("h", dialect.Digest(m.texts()))
		}
		f.Open = f.Open || !m.isKnown()
		history[i] = f
	}
	for i := range history { // words of the user beside the results of calls bind these calls
		if history[i].Role == core.RoleUser && !history[i].Answers && i > 0 && len(r.messages[i].of("tool_result")) > 0 {
			history[i-1].Open = true
		}
	}
	return history
}

// Names returns the names that History gave.
func (r *request) Names() dialect.Names { return r.names.Kept() }

// after returns the results of the calls of message i, by their ids.
func (r *request) after(i int) map[string]*block {
	if i+1 == len(r.messages) {
		return nil
	}
	results := map[string]*block{}
	for _, b := range r.messages[i+1].of("tool_result") {
		results[b.id] = b
	}
	return results
}

// describeAnswer fills in the calls and moves of an assistant's message.
func (m *message) describeAnswer(f *fold.Message, results map[string]*block, w *hosts.Wire, names *dialect.Names) {
	calls := m.calls(results)
	first := ""
	if len(calls) > 0 {
		first = calls[0].ID
	}
	f.Name = names.Answer(len(calls) > 0, first, dialect.Digest(m.texts()), dialect.Digest(m.signatures()))
	for _, text := range m.of("text") {
		f.Text = text.text
	}
	dialect.Describe(f, calls, w)
}

// calls returns the calls of a message.
func (m *message) calls(results map[string]*block) (calls []dialect.Call) {
	for _, b := range m.of("tool_use") {
		call := dialect.Call{ID: b.id, Tool: b.tool, Input: b.input}
		if result := results[b.id]; result != nil {
			call.Result = &dialect.Result{Failed: result.failed, Tokens: tokensOf(result), Said: result.said}
		}
		calls = append(calls, call)
	}
	return calls
}

// describeUser fills in who speaks in a message of role user.
func (m *message) describeUser(f *fold.Message, w *hosts.Wire, names *dialect.Names) {
	words := m.said(w, false)
	results := m.of("tool_result")
	switch {
	case len(results) > 0:
		f.Name, f.Answers = names.Call("r", results[0].id), words == "" && !m.shows()
	case words != "":
		f.Name = names.Next("u", dialect.Digest(words))
	default:
		f.Name, f.Host = names.Next("u", dialect.Digest(m.texts())), !m.shows()
	}
	if texts := m.of("text"); len(results) == 0 && len(texts) > 0 {
		f.Summary = w.IsSummary(texts[0].text)
	}
}

// said returns the user's words in a message.
func (m *message) said(w *hosts.Wire, system bool) string {
	var words []string
	for _, b := range m.of("text") {
		if said := w.Said(b.text, system); said != "" {
			words = append(words, said)
		}
	}
	return strings.Join(words, "\n")
}

// shows reports whether the message has a picture or a document; only users send these.
func (m *message) shows() bool { return len(m.of("image"))+len(m.of("document")) > 0 }

func (m *message) texts() string {
	var all strings.Builder
	for _, b := range m.of("text") {
		all.WriteString(b.text)
	}
	return all.String()
}

func (m *message) signatures() string {
	var all strings.Builder
	for i := range m.blocks {
		if m.blocks[i].thinks() {
			all.WriteString(m.blocks[i].signature)
		}
	}
	return all.String()
}

// said returns the text of a result.
func (b *block) said() string {
	if b.content.Type == gjson.String {
		return b.content.Str
	}
	var all strings.Builder
	b.content.ForEach(func(_, part gjson.Result) bool {
		all.WriteString(part.Get("text").Str)
		return true
	})
	return all.String()
}

// tokens estimates the tokens of a message, without its thinking.
func (m *message) tokens() (tokens int) {
	for i := range m.blocks {
		switch b := &m.blocks[i]; {
		case b.thinks():
		case b.kind == "tool_result":
			tokens += tokensOf(b)
		case isPicture(b.kind):
			tokens += dialect.PictureTokens
		default:
			tokens += dialect.Tokens(max(len(b.raw), len(b.text)))
		}
	}
	return max(1, tokens)
}

// tokensOf estimates the tokens of a result.
func tokensOf(b *block) int {
	if !b.content.IsArray() {
		return dialect.Tokens(len(b.raw))
	}
	return dialect.TokensOf(b.content, isPicture)
}

func isPicture(kind string) bool { return kind == "image" }
