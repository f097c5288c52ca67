// Package transcripts reads the logs that hosts keep or print of their sessions,
// each format by a reader of its own, into one stream of core messages: order
// kept, unknown lines kept, the usage of an answer told once. It leaves to others
// what the messages mean for frames.
package transcripts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"flame/core"
)

// Reader returns what tells of a single line of a log what it means, with which a
// program that reads a host's output itself can go through it: call it for one line
// after another. It is nil for a format that is not kept in lines.
func (f *Format) Reader() func(line []byte) core.Message {
	if !f.inLines() {
		return nil
	}
	parse, told := f.Lines(), newTold("")
	return func(line []byte) core.Message { return told.once(parse(bytes.TrimSpace(line))) }
}

// Messages returns the messages of a whole log in lines. An error ends the stream;
// ErrTorn is one that more reading may cure. A format that is not kept in lines is
// an error.
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

// entries reads what r has after position from. A last line without an end is an
// ErrTorn; in a log that is whole it is taken all the same where it is JSON.
func entries(r io.Reader, format *Format, from core.LogPosition, whole bool) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		parse, told, at := format.Lines(), newTold(from.Last), from
		log := newLines(r)
		for {
			text, err := log.next()
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

// toldAnswers is how many answers are remembered as told. The lines of one come
// close together, among those of agents that run beside it.
const toldAnswers = 512

// told remembers the last answers whose tokens were told: hosts repeat them on
// each line of an answer.
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

// once returns m without the tokens that an earlier line has told.
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

// other keeps a line that is no message.
func other(text []byte) core.Message {
	m := core.Message{Role: core.RoleOther, Raw: bytes.Clone(text)}
	if !json.Valid(text) {
		m.Raw, _ = json.Marshal(string(text)) // a string always has a JSON
	}
	return m
}

// noted is a line that is no message, but tells of agents.
func noted(text []byte, session string, notes ...core.AgentNote) core.Message {
	m := other(text)
	m.Session, m.Notes = session, notes
	return m
}

// aside is m, which tells of no agent, as an entry of a kind that is known or not.
// What an entry of it tells all the same stays told.
func aside(m core.Message, known bool) core.Message {
	m.Aside = known && len(m.Notes) == 0
	return m
}

// loose reads what it can of a JSON value: a field of another kind than it was
// stays unset, as hosts change. It is false where text is no JSON.
func loose(text []byte, into any) bool {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(text, into)
	return err == nil || errors.As(err, &other)
}
