package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
)

// Amended returns the body after an amendment; history is the result of History. Other messages
// keep their bytes, except that one may get a mark for the cache.
func (r *Request) Amended(history []fold.Message, a fold.Amendment) []byte {
	e := newEdit(a)
	mark := r.markFor(history, e.dropped)
	all, same := make([]string, 0, len(r.messages)), true
	for i := range r.messages {
		m := &r.messages[i]
		sent := e.sent(m, history[i].Name)
		if i == mark.at {
			last := len(sent) - 1
			sent[last] = m.marked(sent[last], mark.value)
		}
		same = same && len(sent) == 1 && sent[0] == m.raw
		all = append(all, sent...)
	}
	if same {
		return []byte(r.raw)
	}
	return []byte(r.raw[:r.list.from] + "[" + strings.Join(all, ",") + "]" + r.raw[r.list.to:])
}

// An edit is an amendment, by the names of messages and the ids of calls.
type edit struct {
	dropped, stale map[string]bool
	before         map[string][]string
	lines          map[string]string // that replace outputs, by call; an empty one removes the call, too
}

func newEdit(a fold.Amendment) edit {
	e := edit{dropped: map[string]bool{}, stale: map[string]bool{}, before: map[string][]string{}, lines: map[string]string{}}
	for _, name := range a.Drop {
		e.dropped[name] = true
	}
	for _, name := range a.Stale {
		e.stale[name] = true
	}
	for _, note := range a.Before {
		e.before[note.Before] = append(e.before[note.Before], note.Text)
	}
	for _, cut := range a.Cuts {
		e.lines[cut.Call] = cut.Text
	}
	return e
}

// userSays returns a message of the user. The API joins it with a neighbouring message of the
// user.
func userSays(texts []string) string {
	return `{"role":"user","content":[` + strings.Join(textBlocks(texts), ",") + `]}`
}

func textBlocks(texts []string) []string {
	return lo.Map(texts, func(text string, _ int) string { return textBlock(text) })
}

func textBlock(text string) string { return `{"type":"text","text":` + quoted(text) + `}` }

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(raw)
}

// thoughtOnly replaces the thinking of a message that has nothing else: a message must not be
// empty.
const thoughtOnly = "(thinking)"

// sent returns the messages to send for a message: the notes before it, and the message itself,
// unless it is dropped. Notes before results of tools follow these results, as nothing may stand
// between a call and its result.
func (e *edit) sent(m *message, name string) (all []string) {
	notes, within := e.before[name], !e.dropped[name] && m.role == core.RoleUser && len(m.of("tool_result")) > 0
	if len(notes) > 0 && !within {
		all = append(all, userSays(notes))
	}
	if !e.dropped[name] {
		all = append(all, e.message(m, name, within))
	}
	return all
}

// message returns a message as it is sent, with the notes before it inside if notesWithin.
func (e *edit) message(m *message, name string, notesWithin bool) string {
	edited, results, blocks := false, 0, make([]string, 0, len(m.blocks))
	for i := range m.blocks {
		b := &m.blocks[i]
		line, cut := e.lines[b.id]
		switch {
		case b.thinks() && e.stale[name], cut && line == "":
			edited = true
			continue
		case b.kind == "tool_result" && cut && b.content.Exists():
			at := b.content.Index
			blocks, edited = append(blocks, b.raw[:at]+quoted(line)+b.raw[at+len(b.content.Raw):]), true
		default:
			blocks = append(blocks, b.raw)
		}
		if b.kind == "tool_result" {
			results = len(blocks)
		}
	}
	if notes := e.before[name]; notesWithin && len(notes) > 0 {
		blocks, edited = slices.Insert(blocks, results, textBlocks(notes)...), true
	}
	if !edited || !m.listed {
		return m.raw
	}
	if len(blocks) == 0 {
		blocks = append(blocks, textBlock(thoughtOnly))
	}
	return m.raw[:m.list.from] + "[" + strings.Join(blocks, ",") + "]" + m.raw[m.list.to:]
}
