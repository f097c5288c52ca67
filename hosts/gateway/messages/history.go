package messages

import (
	"maps"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/core/op"
	"flame/hosts"
)

// History returns the request's messages in the form that folding reads. They have no times.
func (r *Request) History(w *hosts.Wire) []fold.Message {
	history := make([]fold.Message, len(r.messages))
	r.names = Names{}
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
			f.Name = r.names.next("h", digest(m.texts()))
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

// Names returns the names that History gave; the name of the answer continues them.
func (r *Request) Names() Names {
	names := r.names
	names.given, names.ids = maps.Clone(names.given), nil
	return names
}

// after returns the results of the calls of message i, by their ids.
func (r *Request) after(i int) map[string]*block {
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
func (m *message) describeAnswer(f *fold.Message, results map[string]*block, w *hosts.Wire, names *Names) {
	calls := m.of("tool_use")
	first := ""
	if len(calls) > 0 {
		first = calls[0].id
	}
	f.Name = names.answer(len(calls) > 0, first, digest(m.texts()), digest(m.signatures()))
	for _, text := range m.of("text") {
		f.Text = text.text
	}
	for n, call := range calls {
		result := results[call.id]
		if result == nil {
			f.Open = true
			continue
		}
		if own := w.Own(call.tool); own != "" {
			if !result.failed {
				f.Moves = append(f.Moves, movesOf(own, result.said(), n == 0)...)
			}
			continue
		}
		if !result.failed {
			f.Calls = append(f.Calls, fold.Call{ID: call.id, Key: keyOf(call), Tokens: tokensOf(result)})
		}
	}
}

func movesOf(own op.Name, answer string, first bool) (moves []fold.Move) {
	for _, m := range op.ReadMoves(own, answer) {
		kind := fold.Enter
		if m.Leaves {
			kind = fold.Leave
		}
		moves = append(moves, fold.Move{Kind: kind, Frame: m.Frame, First: first && len(moves) == 0})
	}
	return moves
}

// maxKey bounds the input of a call that is compared with the inputs of other calls, in characters.
const maxKey = 2000

// keyOf returns a text that is equal for calls with the same input, ignoring their descriptions.
func keyOf(call *block) string {
	if len(call.input.Raw) > maxKey {
		return call.id
	}
	key := call.tool
	call.input.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "description" {
			key += "\x00" + name.Str + "\x00" + value.Raw
		}
		return true
	})
	return key
}

// describeUser fills in who speaks in a message of role user.
func (m *message) describeUser(f *fold.Message, w *hosts.Wire, names *Names) {
	words := m.said(w, false)
	results := m.of("tool_result")
	switch {
	case len(results) > 0:
		f.Name, f.Answers = names.call("r", results[0].id), words == "" && !m.shows()
	case words != "":
		f.Name = names.next("u", digest(words))
	default:
		f.Name, f.Host = names.next("u", digest(m.texts())), !m.shows()
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

const (
	charsPerToken = 4    // the same estimate as everywhere in flame
	pictureTokens = 1600 // about the most that a picture takes, regardless of the size of its file
)

// tokens estimates the tokens of a message, without its thinking.
func (m *message) tokens() (tokens int) {
	for i := range m.blocks {
		switch b := &m.blocks[i]; {
		case b.thinks():
		case b.kind == "tool_result":
			tokens += tokensOf(b)
		case b.kind == "image":
			tokens += pictureTokens
		default:
			tokens += max(len(b.raw), len(b.text)) / charsPerToken
		}
	}
	return max(1, tokens)
}

// tokensOf estimates the tokens of a result.
func tokensOf(b *block) (tokens int) {
	if !b.content.IsArray() {
		return len(b.raw) / charsPerToken
	}
	b.content.ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").Str == "image" {
			tokens += pictureTokens
		} else {
			tokens += len(part.Raw) / charsPerToken
		}
		return true
	})
	return tokens
}
