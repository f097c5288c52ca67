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

// A parser interprets one line of a log. It may remember earlier ones.
type parser = func(line []byte) core.Message

// A Format is one form in which a host logs its sessions: in lines, as one
// document or in a database; one of the three is set.
type Format struct {
	Name string // for people
	Host string // its name
	Kept bool   // the host keeps such a log as a file during a session

	Lines    func() parser // returns a reader of lines
	Document func(r io.Reader) iter.Seq2[core.Message, error]
	Database func(ctx context.Context, path, session string) iter.Seq2[core.Message, error]

	Entry func(e Entry) bool     // reports whether a JSON line belongs to such a log; may be nil
	Head  func(head []byte) bool // reports whether such a log begins like this, if no line shows it; may be nil
}

func (f *Format) inLines() bool { return f != nil && f.Lines != nil }

// An Entry is a JSON object in a log, by its keys.
type Entry map[string]json.RawMessage

// Text returns the string of a key, or "".
func (e Entry) Text(key string) (text string) {
	_ = json.Unmarshal(e[key], &text)
	return text
}

// Has reports whether the key exists.
func (e Entry) Has(key string) bool { return e[key] != nil }

// Formats are the known formats, in the order in which they are tried.
type Formats []*Format

// String names the formats for people.
func (f Formats) String() string {
	var names []string
	for _, format := range f {
		names = append(names, format.Name)
	}
	return strings.Join(names, ", ")
}

// sniff recognizes a format by how a log begins; nil if it is unknown.
func (f Formats) sniff(head []byte) *Format {
	for line := range bytes.Lines(head) {
		if format := f.ofEntry(line); format != nil {
			return format
		}
	}
	for _, format := range f {
		if format.Head != nil && format.Head(head) {
			return format
		}
	}
	return f.ofEntry(head) // one entry on several lines
}

// ofEntry returns the format that text, the first value in it, is an entry of.
func (f Formats) ofEntry(text []byte) *Format {
	var entry Entry
	if json.NewDecoder(bytes.NewReader(text)).Decode(&entry) != nil {
		return nil
	}
	for _, format := range f {
		if format.Entry != nil && format.Entry(entry) {
			return format
		}
	}
	return nil
}

// keptBy returns the format of the logs that a host keeps as files, or nil.
func (f Formats) keptBy(host string) *Format {
	for _, format := range f {
		if format.Kept && format.Host == host {
			return format
		}
	}
	return nil
}
