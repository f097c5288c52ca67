package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/codec"
)

// History returns the messages in the form that folding reads. They have no times.
func (r *request) History(w *hosts.GatewaySpec) []fold.Message {
	history, ends := make([]fold.Message, len(r.messages)), r.ends()
	r.names = codec.MessageNames{}
	for i := range r.messages {
		m := &r.messages[i]
		f := fold.Message{Role: m.role, Tokens: m.tokens(), Open: !m.isWhole(i, ends)}
		if m.role == core.RoleAssistant {
			m.describeAnswer(&f, r.after(i), w, &r.names)
		} else {
			m.describeOther(&f, w, &r.names)
		}
		history[i] = f
		if m.results && (f.Open || !f.IsToolResult) && i > 0 { // what stays beside outputs binds the calls
			history[i-1].Open = true
		}
	}
	return history
}

// ends are the messages that have the two ends of a call, by its id.
type ends struct{ calls, outputs []int }

func (r *request) ends() map[string]ends {
	all := map[string]ends{}
	for n := range r.messages {
		for _, i := range r.messages[n].items {
			e := all[i.call]
			switch i.sort() {
			case call:
				e.calls = append(e.calls, n)
			case output:
				e.outputs = append(e.outputs, n)
			default:
				continue
			}
			all[i.call] = e
		}
	}
	return all
}

// isWhole reports whether flame knows all items of message n, and the next message answers its
// calls, or the one before made the calls that it answers: both stay or go together.
func (m *message) isWhole(n int, all map[string]ends) bool {
	for _, i := range m.items {
		e := all[i.call]
		switch i.sort() {
		case unknown:
			return false
		case call, output:
			if i.call == "" || len(e.calls) != 1 || len(e.outputs) != 1 || e.outputs[0] != e.calls[0]+1 {
				return false
			}
		}
	}
	return true
}

// after returns the outputs of the calls of message i, by their ids.
func (r *request) after(i int) map[string]*item {
	outputs := map[string]*item{}
	if i+1 < len(r.messages) {
		for _, o := range r.messages[i+1].of(output) {
			outputs[o.call] = o
		}
	}
	return outputs
}

// describeAnswer fills in the calls and moves of an answer.
func (m *message) describeAnswer(f *fold.Message, outputs map[string]*item, w *hosts.GatewaySpec, names *codec.MessageNames) {
	var calls []codec.Call
	for _, c := range m.of(call) {
		made := codec.Call{ID: c.call, Tool: c.tool, Input: gjson.Result{Type: gjson.String, Raw: c.input, Str: c.input}}
		if codec.IsValid(c.input) {
			made.Input = gjson.Parse(c.input)
		}
		if o := outputs[c.call]; o != nil {
			made.Result = &codec.Result{Tokens: tokensOf(o), Said: func() string { return textOf(o.output) }}
		}
		calls = append(calls, made)
	}
	first := ""
	if len(calls) > 0 {
		first = calls[0].ID
	}
	var words, seals strings.Builder
	for _, i := range m.items {
		seals.WriteString(i.sealed)
		if i.ofModel() && i.sort() == speech {
			f.Text = textOf(i.content)
			words.WriteString(f.Text)
		}
		if !i.ofModel() && i.sort() == speech { // of others, within the answer
			text, system := textOf(i.content), i.role != string(core.RoleUser)
			f.Open = f.Open || w.UserWords(text, system) != "" || !system && hasPicture(i.content) || w.KeepsText != nil && w.KeepsText(text)
		}
	}
	f.Name = names.Answer(len(calls) > 0, first, codec.Digest(words.String()), codec.Digest(seals.String()))
	codec.Describe(f, calls, w)
}

// describeOther fills in who speaks in a message that the model did not make.
func (m *message) describeOther(f *fold.Message, w *hosts.GatewaySpec, names *codec.MessageNames) {
	said, texts, shows, lasts := "", "", false, false
	for _, i := range m.of(speech) {
		text, system := textOf(i.content), i.role != string(core.RoleUser)
		texts += text
		words := w.UserWords(text, system)
		said += words
		shows = shows || !system && hasPicture(i.content)
		f.Summary = f.Summary || !system && w.IsSummary(text)
		lasts = lasts || w.KeepsText != nil && w.KeepsText(text)
	}
	f.Summary = f.Summary || len(m.of(summary)) > 0
	switch outputs := m.of(output); {
	case len(outputs) > 0:
		f.Name, f.IsToolResult = names.Call("r", outputs[0].call), said == "" && !shows
	case said != "" || shows:
		f.Name = names.Next("u", codec.Digest(said))
	default:
		f.Name, f.FromHost = names.Next("h", codec.Digest(texts+m.items[0].sealed)), true
	}
	f.Open = f.Open || lasts && (f.IsToolResult || f.FromHost)
}

// textOf returns the text of a content or an output: a text, or a list of parts.
func textOf(value gjson.Result) string {
	if !value.IsArray() {
		return value.Str
	}
	var all []string
	value.ForEach(func(_, part gjson.Result) bool {
		all = append(all, part.Get("text").Str)
		return true
	})
	return strings.Join(all, "\n")
}

func isPicture(kind string) bool { return kind == "input_image" }

func hasPicture(content gjson.Result) (has bool) {
	if content.IsArray() {
		content.ForEach(func(_, part gjson.Result) bool {
			kind := part.Get("type").Str
			has = has || isPicture(kind) || kind == "input_file"
			return true
		})
	}
	return has
}

// tokens estimates the tokens of a message, without its reasoning.
func (m *message) tokens() (tokens int) {
	for n := range m.items {
		switch i := &m.items[n]; i.sort() {
		case thought:
		case output:
			tokens += tokensOf(i)
		case speech:
			if i.content.IsArray() {
				tokens += codec.TokensOf(i.content, isPicture)
			} else {
				tokens += codec.Tokens(len(i.raw))
			}
		default:
			tokens += codec.Tokens(len(i.raw))
		}
	}
	return max(1, tokens)
}

// tokensOf estimates the tokens of an output.
func tokensOf(o *item) int {
	if o.output.IsArray() {
		return codec.TokensOf(o.output, isPicture)
	}
	return codec.Tokens(len(o.raw))
}
