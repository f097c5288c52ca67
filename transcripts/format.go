package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"flame/core"
)

// A parser says what one line of a log means. It may remember earlier ones.
type parser = func(line []byte) core.Message

// A Format is one way in which a host tells of its sessions: in lines, as one document
// or in a database, one of which is set.
type Format struct {
	Name string // for people
	Host string // its name
	Kept bool   // the host keeps such a log as a file while a session goes on

	Lines    func() parser // returns a reader of lines
	Document func(r io.Reader) iter.Seq2[core.Message, error]
	Database func(ctx context.Context, path, session string) iter.Seq2[core.Message, error]

	Entry func(e Entry) bool     // reports whether a line that is JSON is one of such a log; may be nil
	Head  func(head []byte) bool // reports whether such a log begins so, where no line tells; may be nil
}

func (f *Format) inLines() bool { return f != nil && f.Lines != nil }

// An Entry is a JSON object in a log, by its keys.
type Entry map[string]json.RawMessage

// Text returns the string of a key; empty where it has none.
func (e Entry) Text(key string) (text string) {
	_ = json.Unmarshal(e[key], &text)
	return text
}

// Has reports whether a key is there.
func (e Entry) Has(key string) bool { return e[key] != nil }

// Formats are those that are known, in the order in which they are looked for.
type Formats []*Format

// String names the formats for people.
func (f Formats) String() string {
	var names []string
	for _, format := range f {
		names = append(names, format.Name)
	}
	return strings.Join(names, ", ")
}

// sniff tells a format by how a log begins; nil where none is known.
func (f Formats) sniff(head []byte) *Format {
	for line := range bytes.Lines(head) {
		var entry Entry
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		for _, format := range f {
			if format.Entry != nil && format.Entry(entry) {
				return format
			}
		}
	}
	for _, format := range f {
		if format.Head != nil && format.Head(head) {
			return format
		}
	}
	return nil
}

// keptBy returns the format of the logs that a host keeps as files; nil without any.
func (f Formats) keptBy(host string) *Format {
	for _, format := range f {
		if format.Kept && format.Host == host {
			return format
		}
	}
	return nil
}
