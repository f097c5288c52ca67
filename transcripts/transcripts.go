// Package transcripts reads the logs that hosts store or print, with a reader for each
// format, as a stream of core messages. It keeps the order and unknown lines, and counts
// the usage of an answer once. It does not know frames.
package transcripts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"flame/core"
)

// Reader returns a function that interprets the lines of a log, for callers that read a
// host's output themselves. They call it with each line in order. It is nil for a format
// without lines.
func (f *Format) Reader() func(line []byte) core.Message {
	if !f.inLines() {
		return nil
	}
	parse, told := f.Lines(), newTold("")
	return func(line []byte) core.Message { return told.once(parse(bytes.TrimSpace(line))) }
}

// Messages returns the messages of a whole log with lines. An error ends the stream. After
// an ErrTorn, a later call may read more. A format without lines is an error.
func Messages(r io.Reader, format *Format) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		if !format.inLines() {
			yield(core.Message{}, errors.New("the log has no lines"))
			return
		}
		for entry, err := range entries(r, format, core.LogPosition{}, true) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

// entries reads the log r, which begins at position from. A last line without a newline is an
// ErrTorn; in a complete log, entries accepts it if it is JSON.
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

// toldAnswers is how many counted answers a told remembers. The lines of one answer are close
// together, between lines of agents that run in parallel.
const toldAnswers = 512

// A told remembers the last answers whose tokens were counted, because hosts repeat the tokens
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

// once returns m without tokens that an earlier line reported, and without impossible ones.
func (t *told) once(m core.Message) core.Message {
	m = plausible(m)
	switch {
	case m.ID == "" || m.Usage == core.Usage{ToolCalls: m.Usage.ToolCalls}:
	case t.ids[m.ID]:
		m.Usage = core.Usage{ToolCalls: m.Usage.ToolCalls}
	default:
		t.add(m.ID)
	}
	return m
}

// Other returns a message of an unknown role with a line that is not a message.
func Other(text []byte) core.Message {
	m := core.Message{Role: core.RoleOther, Raw: bytes.Clone(text)}
	if !json.Valid(text) {
		m.Raw, _ = json.Marshal(string(text)) // a string can always be encoded
	}
	return m
}

// Noted returns a line that is not a message, with its notes about agents.
func Noted(text []byte, session string, notes ...core.AgentNote) core.Message {
	m := Other(text)
	m.Session, m.Notes = session, notes
	return m
}

// Aside marks m as an entry of a known kind, unless it is unknown or has notes about agents.
func Aside(m core.Message, known bool) core.Message {
	m.Aside = known && len(m.Notes) == 0
	return m
}

// Loose decodes a JSON value, but leaves fields of an unexpected type unset, because hosts
// change. It returns false if text is not JSON.
func Loose(text []byte, into any) bool {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(text, into)
	return err == nil || errors.As(err, &other)
}

// Read returns the entries that the host added to its log at path since position from. If the
// log is shorter than that, the host has rewritten it, and Read begins at its start. It
// leaves an incomplete last line for the next call. An error ends the stream; it is
// fs.ErrNotExist without such a file.
func (f Formats) Read(host, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		file, from, err := open(path, from)
		if err != nil {
			yield(core.LogEntry{Next: from}, err)
			return
		}
		defer file.Close()
		format := f.keptBy(host)
		if format == nil {
			yield(core.LogEntry{Next: from}, fmt.Errorf("the host %q has no log that flame can read", host))
			return
		}
		for entry, err := range entries(file, format, from, false) {
			if errors.Is(err, ErrTorn) || !yield(entry, err) {
				return
			}
		}
	}
}

// open returns the log at path, and the position at which reading continues.
func open(path string, from core.LogPosition) (*os.File, core.LogPosition, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, from, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, from, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a file")}
	}
	if info.Size() < from.Offset {
		from = core.LogPosition{}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, from, err
	}
	if _, err := file.Seek(from.Offset, io.SeekStart); err != nil {
		file.Close()
		return nil, from, err
	}
	return file, from, nil
}
