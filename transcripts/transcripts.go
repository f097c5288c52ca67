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
	parse, told := f.Lines(), new(countedAnswers)
	return func(line []byte) core.Message { return told.more(parse(bytes.TrimSpace(line))) }
}

// Messages returns the messages of a whole log with lines. An error ends the stream. After
// an ErrIncompleteLine, a later call may read more. A format without lines is an error.
func Messages(r io.Reader, format *Format) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		if !format.inLines() {
			yield(core.Message{}, errors.New("the log has no lines"))
			return
		}
		for entry, err := range entries(r, format, nil, core.LogPosition{}, true) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

// entries reads the log r, which begins at position from, behind the lines before. A last line
// without a newline is an ErrIncompleteLine; in a complete log, entries accepts it if it is JSON.
func entries(r io.Reader, format *Format, before []byte, from core.LogPosition, whole bool) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		parse, told, at := format.Lines(), new(countedAnswers), from
		told.closed = from.Last
		for line := range bytes.Lines(before) {
			told.again(parse(bytes.TrimSpace(line)))
		}
		log := newLines(r)
		for {
			text, err := log.entry()
			if errors.Is(err, io.EOF) {
				return
			}
			if errors.Is(err, ErrIncompleteLine) && whole && json.Valid(text) {
				err = nil
			}
			if err != nil {
				yield(core.LogEntry{Next: at}, err)
				return
			}
			if len(text) == 0 {
				at.Offset = from.Offset + log.end
				continue
			}
			parts := format.split(text)
			for i, line := range parts {
				if i == len(parts)-1 {
					at.Offset = from.Offset + log.end
				}
				m := told.more(parse(line))
				if m.ID != "" {
					at.Last = m.ID
				}
				if !yield(core.LogEntry{Message: m, Next: at}, nil) {
					return
				}
			}
		}
	}
}

// split returns the lines that a line stands for.
func (f *Format) split(line []byte) [][]byte {
	if f.Split != nil {
		if lines := f.Split(line); lines != nil {
			return lines
		}
	}
	return [][]byte{line}
}

// remembered is how many ids a recent remembers. The lines of one answer are close together, between
// lines of agents that run in parallel.
const remembered = 512

// A recent has values of the last ids.
type recent[T any] struct {
	values map[string]T
	ring   [remembered]string
	next   int
}

func (r *recent[T]) set(id string, value T) {
	if r.values == nil {
		r.values = map[string]T{}
	}
	if _, known := r.values[id]; !known {
		delete(r.values, r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % remembered
	}
	r.values[id] = value
}

// A countedAnswers remembers the usage of the last answers, because hosts repeat it on each line of an answer,
// and it may grow from line to line.
type countedAnswers struct {
	recent[core.Usage]
	closed string // id of an answer that was counted, perhaps in part
}

// again takes in a message that was counted before.
func (t *countedAnswers) again(m core.Message) {
	if m.ID == t.closed {
		t.closed = ""
	}
	t.more(m)
}

// more returns m with what its line adds to the usage of its answer, and without impossible usage.
func (t *countedAnswers) more(m core.Message) core.Message {
	m = plausible(m)
	now, calls := m.Usage, core.Usage{ToolCalls: m.Usage.ToolCalls}
	switch {
	case m.ID == "" || now == calls:
	case m.ID == t.closed:
		m.Usage = calls
	default:
		now.ToolCalls = 0
		before := t.values[m.ID]
		m.Whole = before.Max(now)
		t.set(m.ID, m.Whole)
		m.Usage = m.Whole.Minus(before).Add(calls)
	}
	return m
}

// OtherMessage returns a message of an unknown role with a line that is not a message.
func OtherMessage(text []byte) core.Message {
	m := core.Message{Role: core.RoleOther, Raw: bytes.Clone(text)}
	if !json.Valid(text) {
		m.Raw, _ = json.Marshal(string(text)) // a string can always be encoded
	}
	return m
}

// AgentMessage returns a line that is not a message, with its notes about agents.
func AgentMessage(text []byte, session string, notes ...core.AgentInfo) core.Message {
	m := OtherMessage(text)
	m.Session, m.Notes = session, notes
	return m
}

// MarkIrrelevant marks m as an entry of a known kind, unless it is unknown or has notes about agents.
func MarkIrrelevant(m core.Message, known bool) core.Message {
	m.Irrelevant = known && len(m.Notes) == 0
	return m
}

// DecodeLenient decodes a JSON value, but leaves fields of an unexpected type unset, because hosts
// change. It returns false if text is not JSON.
func DecodeLenient(text []byte, into any) bool {
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
		before, err := tail(file, from.Offset)
		if err != nil {
			yield(core.LogEntry{Next: from}, err)
			return
		}
		for entry, err := range entries(file, format, before, from, false) {
			if errors.Is(err, ErrIncompleteLine) || !yield(entry, err) {
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

// readAgain bounds the part of a log, in bytes, from which a reader learns what it knew when it stopped.
const readAgain = 256 << 10

// tail returns the whole lines in the last part of a log before a position.
func tail(log io.ReaderAt, end int64) ([]byte, error) {
	part := make([]byte, min(end, readAgain))
	if _, err := log.ReadAt(part, end-int64(len(part))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if end > readAgain {
		_, part, _ = bytes.Cut(part, []byte("\n"))
	}
	return part, nil
}
