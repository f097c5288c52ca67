package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A parser interprets one line of a log. It may remember earlier lines.
type parser = func(line []byte) core.Message

// A Format is a format of a host's logs. One of Lines, Document and Database is set.
type Format struct {
	Name string // for people
	Host string // name of the host
	Kept bool   // the host writes such a log during a session

	Lines    func() parser              // returns a reader of lines
	Split    func(line []byte) [][]byte // returns the lines that a line stands for; nil: itself
	Document func(r io.Reader) iter.Seq2[core.Message, error]
	Database func(ctx context.Context, path, session string) iter.Seq2[core.Message, error]

	Entry func(e Entry) bool     // reports whether a JSON value is an entry of such a log; may be nil
	Head  func(head []byte) bool // reports whether such a log begins with head, if entries do not show it; may be nil
}

func (f *Format) inLines() bool { return f != nil && f.Lines != nil }

// An Entry is a JSON object in a log, by its keys.
type Entry map[string]json.RawMessage

// Text returns the string of a key; empty for another value.
func (e Entry) Text(key string) (text string) {
	_ = json.Unmarshal(e[key], &text)
	return text
}

// Has reports whether the key exists.
func (e Entry) Has(key string) bool { return e[key] != nil }

// Formats are the known formats, in the order in which flame tries them.
type Formats []*Format

// String names the formats for people.
func (f Formats) String() string {
	return strings.Join(lo.Map(f, func(format *Format, _ int) string { return format.Name }), ", ")
}

// sniff recognizes a format by the beginning of a log; nil if it is unknown.
func (f Formats) sniff(head []byte) *Format {
	head = bytes.TrimPrefix(head, mark)
	if format := f.ofLines(head); format != nil {
		return format
	}
	for _, format := range f {
		if format.Head != nil && format.Head(head) {
			return format
		}
	}
	return f.ofEntry(head) // an entry on several lines
}

// mark is the byte order mark with which some editors begin a file.
var mark = []byte("\ufeff")

// ofLines returns the format that the first line that shows one has; nil if none does.
func (f Formats) ofLines(lines []byte) *Format {
	for line := range bytes.Lines(bytes.TrimPrefix(lines, mark)) {
		if format := f.ofEntry(line); format != nil {
			return format
		}
	}
	return nil
}

// ofEntry returns the format that has the first JSON value in text as an entry.
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

// keptBy returns the format of the files that a host writes during a session; nil if none.
func (f Formats) keptBy(host string) *Format {
	format, _ := lo.Find(f, func(format *Format) bool { return format.Kept && format.Host == host })
	return format
}

// The formats of Claude Code.
var (
	// ClaudeSession is the JSONL file of a session or a subagent. An old file begins
	// with the summary of another session.
	ClaudeSession = &Format{
		Name: "Claude Code's session files", Host: "claude-code", Kept: true,
		Lines: func() parser { return new(claudeSession).line },
		Entry: func(e Entry) bool {
			return e.Text("type") != "" && (e.Text("sessionId") != "" || e.Text("leafUuid") != "")
		},
	}
	// ClaudeStream is the output of the client.
	ClaudeStream = &Format{
		Name: "Claude Code's stream-json", Host: "claude-code",
		Lines: func() parser { return new(claudeStream).line },
		Entry: func(e Entry) bool {
			speaks := e.Text("type") == "user" || e.Text("type") == "assistant"
			known := e.Text("type") != "" && e.Text("type") != "init" // as the output of another client begins
			return known && e.Text("session_id") != "" || speaks && e.Has("message") && !e.Has("sessionId")
		},
	}
)

// The formats of OpenCode.
var (
	// OpenCodeRun is the output of the client.
	OpenCodeRun = &Format{
		Name: "OpenCode's run --format json", Host: "opencode",
		Lines: func() parser { return openCodeRunLine },
		Entry: func(e Entry) bool {
			return e.Text("type") != "" && e.Text("sessionID") != "" && (e.Has("part") || e.Has("error"))
		},
	}
	// OpenCodeExport is one document.
	OpenCodeExport = &Format{
		Name: "OpenCode's export", Host: "opencode", Document: OpenCode,
		Entry: func(e Entry) bool {
			var info openCodeSession
			return e.Has("messages") && DecodeLenient(e["info"], &info) && info.ID != ""
		},
		Head: isOpenCodeExport,
	}
	// OpenCodeStore is its database.
	OpenCodeStore = &Format{
		Name: "OpenCode's database", Host: "opencode", Database: OpenCodeDB,
		Head: func(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) },
	}
)

// isOpenCodeExport recognizes an export that spans lines or is longer than head.
func isOpenCodeExport(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	var info openCodeSession
	if opens(d, '{') != nil {
		return false
	}
	if key, err := d.Token(); err != nil || key != "info" || d.Decode(&info) != nil || !strings.HasPrefix(info.ID, "ses_") {
		return false
	}
	return true
}
