package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"flame/core/fold"
)

// Amended returns the body as an amendment has it; history is what History returned.
// Messages that it says nothing about keep their bytes, but for one, which may get a mark
// of the cache.
func (r *Request) Amended(history []fold.Message, a fold.Amendment) []byte {
	e := newEdit(a)
	mark := r.markFor(history, e.dropped)
	var out strings.Builder
	out.Grow(len(r.raw))
	out.WriteString(r.raw[:r.list.from] + "[")
	written, same := 0, true
	write := func(raw string) {
		if written > 0 {
			out.WriteByte(',')
		}
		out.WriteString(raw)
		written++
	}
	for i := range r.messages {
		name := history[i].Name
		if notes := e.before[name]; len(notes) > 0 {
			write(userSays(notes))
			same = false
		}
		if e.dropped[name] {
			same = false
			continue
		}
		raw := e.message(&r.messages[i], name)
		if i == mark.at {
			raw = r.messages[i].marked(raw, mark.value)
		}
		same = same && raw == r.messages[i].raw
		write(raw)
	}
	if same {
		return []byte(r.raw)
	}
	out.WriteString("]" + r.raw[r.list.to:])
	return []byte(out.String())
}

// An edit is an amendment, by the names of messages and the ids of calls.
type edit struct {
	dropped, stale map[string]bool
	before         map[string][]string
	lines          map[string]string // in the place of outputs, by call
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

// userSays returns a message of the user's. Beside another of theirs the API takes both
// for one.
func userSays(texts []string) string {
	blocks := make([]string, len(texts))
	for i, text := range texts {
		blocks[i] = textBlock(text)
	}
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func textBlock(text string) string { return `{"type":"text","text":` + quoted(text) + `}` }

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(raw)
}

// thoughtOnly stands in the place of thinking that was all of a message, which must not
// be empty.
const thoughtOnly = "(thinking)"

// message returns a message as it is sent.
func (e *edit) message(m *message, name string) string {
	edited, blocks := false, make([]string, 0, len(m.blocks))
	for i := range m.blocks {
		b := &m.blocks[i]
		line, cut := e.lines[b.id]
		switch {
		case b.thinks() && e.stale[name]:
			edited = true
		case b.kind == "tool_result" && cut && b.content.Exists():
			at := b.content.Index
			blocks, edited = append(blocks, b.raw[:at]+quoted(line)+b.raw[at+len(b.content.Raw):]), true
		default:
			blocks = append(blocks, b.raw)
		}
	}
	if !edited || !m.listed {
		return m.raw
	}
	if !slices.ContainsFunc(m.blocks, func(b block) bool { return !b.thinks() }) {
		blocks = append(blocks, textBlock(thoughtOnly))
	}
	return m.raw[:m.list.from] + "[" + strings.Join(blocks, ",") + "]" + m.raw[m.list.to:]
}
