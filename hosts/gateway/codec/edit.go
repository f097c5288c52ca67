package codec

import (
	"slices"

	"flame/core/fold"
)

// An edit makes messages as they are sent, by the names of messages and the ids of calls.
type edit struct {
	dropped, stale map[string]bool
	mute           map[string]bool     // messages without the assistant's words
	before         map[string][]string // texts of the user's that stand before a message
	lines          map[string]string   // that replace outputs, by call, of one line or more; an empty one removes the call, too
	marked, mark   string              // the message that gets a mark for the cache, and the mark
}

// Amended returns the body after edits; history is the result of History. Other messages keep their
// bytes, except that one may get a mark for the cache.
func (r *Request) Amended(history []fold.Message, a fold.Edits) []byte {
	e := &edit{dropped: map[string]bool{}, stale: map[string]bool{}, mute: map[string]bool{}, before: map[string][]string{}, lines: map[string]string{}}
	for _, name := range a.Drop {
		e.dropped[name] = true
	}
	for _, name := range a.DropThinking {
		e.stale[name] = true
	}
	for _, note := range a.Before {
		e.before[note.Before] = append(e.before[note.Before], note.Text)
	}
	for _, cut := range a.Cuts {
		if cut.Call == "" {
			e.mute[cut.Message] = true
		} else {
			e.lines[cut.Call] = cut.Text
		}
	}
	if r.api.begin != nil {
		r.api.begin(r, history, e)
	}
	all, same := make([]string, 0, len(r.messages)), true
	for i := range r.messages {
		sent := r.sent(e, &r.messages[i], history[i].Name)
		same = same && slices.Equal(sent, r.messages[i].elements())
		all = append(all, sent...)
	}
	if same {
		return []byte(r.raw)
	}
	return []byte(put(r.raw, r.members[r.api.list], listOf(all)))
}

// sent returns what is sent for a message: the notes before it, and the message itself, unless it is
// dropped. Notes before results follow these, as nothing may stand between a call and its result.
func (r *Request) sent(e *edit, m *Message, name string) (all []string) {
	if texts := e.before[name]; len(texts) > 0 && (e.dropped[name] || !m.Results || !r.api.inside) {
		all = r.api.says(texts)
	}
	switch {
	case e.dropped[name]:
		return all
	case m.Results:
		return append(r.api.edited(e, m, name), all...)
	}
	return append(all, r.api.edited(e, m, name)...)
}

// cut returns the line that replaces the output of the call that a part is about, if it is cut.
func (e *edit) cut(p *Part) (line string, cut bool) {
	line, cut = e.lines[p.ID]
	return line, cut && p.ID != "" && !p.Made
}
