package messages

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/gateway/codec"
)

// Amended returns the body after an amendment; history is the result of History. Other messages
// keep their bytes, except that one may get a mark for the cache.
func (r *request) Amended(history []fold.Message, a fold.Edits) []byte {
	e := edit{codec.NewEdit(a)}
	mark := r.markFor(history, e.Dropped)
	all, same := make([]string, 0, len(r.messages)), true
	for i := range r.messages {
		m := &r.messages[i]
		sent := e.sent(m, history[i].Name)
		if i == mark.at {
			last := len(sent) - 1
			sent[last] = marked(m, sent[last], mark.value)
		}
		same = same && len(sent) == 1 && sent[0] == m.Raw
		all = append(all, sent...)
	}
	if same {
		return []byte(r.raw)
	}
	return []byte(r.list.With(r.raw, all))
}

// An edit makes messages as they are sent.
type edit struct{ codec.IndexedEdits }

// userSays returns a message of the user. The API joins it with a neighbouring message of the
// user.
func userSays(texts []string) string {
	return `{"role":"user","content":[` + strings.Join(textBlocks(texts), ",") + `]}`
}

func textBlocks(texts []string) []string {
	return lo.Map(texts, func(text string, _ int) string { return textBlock(text) })
}

func textBlock(text string) string { return `{"type":"text","text":` + codec.Quoted(text) + `}` }

// thoughtOnly replaces the thinking of a message that has nothing else: a message must not be
// empty.
const thoughtOnly = "(thinking)"

// sent returns the messages to send for a message: the notes before it, and the message itself,
// unless it is dropped. Notes before results of tools follow these results, as nothing may stand
// between a call and its result.
func (e *edit) sent(m *codec.Message, name string) (all []string) {
	notes, within := e.Before[name], !e.Dropped[name] && m.Role == core.RoleUser && len(m.Of(codec.Results)) > 0
	if len(notes) > 0 && !within {
		all = append(all, userSays(notes))
	}
	if !e.Dropped[name] {
		all = append(all, e.message(m, name, within))
	}
	return all
}

// message returns a message as it is sent, with the notes before it inside if notesWithin.
func (e *edit) message(m *codec.Message, name string, notesWithin bool) string {
	edited, results, blocks := false, 0, make([]string, 0, len(m.Parts))
	for i := range m.Parts {
		b := &m.Parts[i]
		line, cut := e.Lines[b.ID]
		switch {
		case b.Kind == codec.Thought && e.Stale[name], b.Kind == codec.Words && e.Mute[name], cut && line == "":
			edited = true
			continue
		case b.Kind == codec.Results && cut && b.Content.Exists():
			at := b.Content.Index
			blocks, edited = append(blocks, b.Raw[:at]+codec.Quoted(line)+b.Raw[at+len(b.Content.Raw):]), true
		default:
			blocks = append(blocks, b.Raw)
		}
		if b.Kind == codec.Results {
			results = len(blocks)
		}
	}
	if notes := e.Before[name]; notesWithin && len(notes) > 0 {
		blocks, edited = slices.Insert(blocks, results, textBlocks(notes)...), true
	}
	if !edited || !m.Listed {
		return m.Raw
	}
	if len(blocks) == 0 {
		blocks = append(blocks, textBlock(thoughtOnly))
	}
	return m.List.With(m.Raw, blocks)
}
