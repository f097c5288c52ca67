// Package transcripts reads the logs that hosts keep or print of their
// sessions, each format by its own reader, into one stream of core messages:
// order kept, unknown lines kept, the usage of an answer counted once. It
// leaves to others what the messages mean for frames.
package transcripts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"flame/core"
)

// Reader returns a function that interprets single lines of a log, for a
// program that reads a host's output itself: call it for one line after
// another. It is nil for a format that is not line-based.
func (f *Format) Reader() func(line []byte) core.Message {
	if !f.inLines() {
		return nil
	}
	parse, told := f.Lines(), newTold("")
	return func(line []byte) core.Message { return told.once(parse(bytes.TrimSpace(line))) }
}

// Messages returns the messages of a whole line-based log. An error ends the
// stream; an ErrTorn may go away with more reading. A format that is not
// line-based is an error.
func Messages(r io.Reader, format *Format) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		if !format.inLines() {
			yield(core.Message{}, errors.New("the log is not one of lines"))
			return
		}
		for entry, err := range entries(r, format, core.LogPosition{}, true) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

// entries reads what r has after position from. A last line without a newline
// is an ErrTorn; in a complete log it is accepted if it is JSON.
func entries(r io.Reader, format *Format, from core.LogPosition, whole bool) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		parse, told, at := format.Lines(), newTold(from.Last), from
		log := newLines(r)
		for {
			text, err := log.entry()
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.Is(err, ErrTorn) && whole && json.Valid(text) {
				err = nil
			}
			if err != nil {
				yield(core.LogEntry{Next: at}, err)
				return
			}
			at.Offset = from.Offset + log.end
			if len(text) == 0 {
				continue
			}
			m := told.once(parse(text))
			if m.ID != "" {
				at.Last = m.ID
			}
			if !yield(core.LogEntry{Message: m, Next: at}, nil) {
				return
			}
		}
	}
}

// toldAnswers is how many answers are remembered as counted. The lines of one
// answer come close together, between those of agents that run in parallel.
const toldAnswers = 512

// told remembers the last answers whose tokens were counted: hosts repeat them
// on each line of an answer.
type told struct {
	ids  map[string]bool
	ring [toldAnswers]string
	next int
}

func newTold(last string) *told {
	t := &told{ids: map[string]bool{}}
	t.add(last)
	return t
}

func (t *told) add(id string) {
	if id == "" {
		return
	}
	delete(t.ids, t.ring[t.next])
	t.ring[t.next], t.ids[id] = id, true
	t.next = (t.next + 1) % toldAnswers
}

// once returns m without tokens that an earlier line has reported.
func (t *told) once(m core.Message) core.Message {
	switch {
	case m.ID == "" || m.Usage == core.Usage{ToolCalls: m.Usage.ToolCalls}:
	case t.ids[m.ID]:
		m.Usage = core.Usage{ToolCalls: m.Usage.ToolCalls}
	default:
		t.add(m.ID)
	}
	return m
}

// other keeps a line that is not a message.
func other(text []byte) core.Message {
	m := core.Message{Role: core.RoleOther, Raw: bytes.Clone(text)}
	if !json.Valid(text) {
		m.Raw, _ = json.Marshal(string(text)) // a string can always be encoded
	}
	return m
}

// noted returns a line that is not a message but says something about agents.
func noted(text []byte, session string, notes ...core.AgentNote) core.Message {
	m := other(text)
	m.Session, m.Notes = session, notes
	return m
}

// aside marks m, which says nothing about agents, as an entry of a known kind
// or not. Any notes it has after all stay.
func aside(m core.Message, known bool) core.Message {
	m.Aside = known && len(m.Notes) == 0
	return m
}

// loose decodes what it can of a JSON value: a field of an unexpected type
// stays unset, as hosts change. It returns false if text is not JSON.
func loose(text []byte, into any) bool {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(text, into)
	return err == nil || errors.As(err, &other)
}
