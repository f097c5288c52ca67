package responses

import (
	"slices"

	"github.com/samber/lo"

	"flame/core/fold"
	"flame/hosts/gateway/codec"
)

// Amended returns the body after an amendment; history is the result of History. Other items
// keep their bytes.
func (r *request) Amended(history []fold.Message, a fold.Edits) []byte {
	e, same := edit{codec.NewEdit(a)}, true
	var all []string
	for n := range r.messages {
		m := &r.messages[n]
		sent := e.sent(m, history[n].Name)
		same = same && slices.Equal(sent, m.raws())
		all = append(all, sent...)
	}
	if same {
		return []byte(r.raw)
	}
	return []byte(r.list.With(r.raw, all))
}

// An edit makes items as they are sent.
type edit struct{ codec.IndexedEdits }

func (m *message) raws() []string {
	return lo.Map(m.items, func(i item, _ int) string { return i.raw })
}

// userSays returns a message of the user.
func userSays(text string) string {
	return `{"type":"message","role":"user","content":[{"type":"input_text","text":` + codec.Quoted(text) + `}]}`
}

// sent returns the items to send for a message, with the notes before it. Notes before outputs
// follow these: nothing is to stand between a call and its output.
func (e *edit) sent(m *message, name string) []string {
	notes := lo.Map(e.Before[name], func(text string, _ int) string { return userSays(text) })
	if e.Dropped[name] {
		return notes
	}
	if !m.results {
		return append(notes, e.items(m, name)...)
	}
	items := e.items(m, name)
	return append(items, notes...)
}

// items returns the items of a message as they are sent. Reasoning goes without the items that it
// led to, and these lose their ids without it: the API would look for the reasoning by them. Words
// stay with reasoning that stays.
func (e *edit) items(m *message, name string) (all []string) {
	stale := e.Stale[name] && len(m.of(thought)) > 0 && len(m.of(unknown)) == 0
	mute := e.Mute[name] && (stale || len(m.of(thought)) == 0)
	rest := slices.DeleteFunc(slices.Clone(m.items), func(i item) bool {
		line, cut := e.Lines[i.call]
		return cut && line == "" && i.call != "" || mute && i.ofModel() && i.sort() == speech
	})
	for n, i := range rest {
		line, cut := e.Lines[i.call]
		switch {
		case i.sort() == thought && (stale || len(rest) < len(m.items) && !slices.ContainsFunc(rest[n:], isWord)):
		case i.sort() == output && cut && i.output.Exists():
			at := i.output.Index
			all = append(all, i.raw[:at]+codec.Quoted(line)+i.raw[at+len(i.output.Raw):])
		case stale && i.ofModel():
			all = append(all, withoutID(i))
		default:
			all = append(all, i.raw)
		}
	}
	return all
}

// isWord reports whether the model said or called something with an item.
func isWord(i item) bool { return i.ofModel() && i.sort() != thought }

// withoutID returns an item without its id, unless the API requires one.
func withoutID(i item) string {
	if i.kind == "local_shell_call" {
		return i.raw
	}
	return codec.Without(i.raw, "id")
}
