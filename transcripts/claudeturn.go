package transcripts

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flame/core"
	"flame/core/judge"
)

// A Turn is what a log shows of the turn at its end.
type Turn struct {
	Calls   []judge.Call // the last ones, oldest first; with the beginnings and ends of long texts
	Said    string       // by the agent, last
	Stopped string       // the host's words where the user stopped it; else empty
	Over    bool         // it ended by itself: its last answer says something, and calls no tool
	Model   string       // of the last answer; may be empty
	Tokens  int          // in the context at the last answer; 0: not told
}

// maxTurnCalls is how many calls of a turn are looked for.
const maxTurnCalls = 20

// Of says whose lines of a file are meant: those of a session itself, or of a subagent.
type Of struct{ Session, Agent string }

// ClaudeTurn returns what the end of a session's file, or of a subagent's, shows of its
// last turn. Lines of others are left out, and so is what cannot be read, such as a
// first line that is cut. asked says that the turn's own prompt is the newest there may be:
// without it, a prompt that nobody has answered yet stands behind the turn. Of long texts
// only beginning and end are decoded: it is made for hooks, which may not take long.
func ClaudeTurn(end []byte, of Of, asked bool) (t Turn) {
	r := claudeTurn{results: map[string]claudeTurnBlock{}}
	for len(end) > 0 && len(t.Calls) < maxTurnCalls {
		end = bytes.TrimRight(end, "\r\n")
		line := end[bytes.LastIndexByte(end, '\n')+1:]
		end = end[:len(end)-len(line)]
		if line = shortened(line); !of.has(line) {
			continue
		}
		m, ok := claudeTurnMessage(line)
		if !ok {
			continue
		}
		if m.isPrompt() && (asked || r.answered) {
			break
		}
		r.take(&t, m)
	}
	slices.Reverse(t.Calls)
	return t
}

// What a line says of itself outside of texts, where quotes are escaped.
var (
	aMessage  = []byte(`"message":`)
	aSidekick = []byte(`"isSidechain":true`)
	anAside   = []byte(`"isMeta":true`)
	aSummary  = []byte(`"isCompactSummary":true`)
)

// has reports whether a line is a message of those that are meant.
func (of Of) has(line []byte) bool {
	if !bytes.Contains(line, aMessage) || bytes.Contains(line, anAside) || bytes.Contains(line, aSummary) {
		return false
	}
	if of.Agent != "" {
		return bytes.Contains(line, []byte(`"agentId":"`+of.Agent+`"`))
	}
	return bytes.Contains(line, []byte(`"sessionId":"`+of.Session+`"`)) && !bytes.Contains(line, aSidekick)
}

// A Prompt is one that a log shows.
type Prompt struct {
	ID, Text string
	At       core.Millis
}

// ClaudePrompts returns the prompts of a session that a part of its file shows, oldest
// first; of long ones the beginning and the end.
func ClaudePrompts(part []byte, session string) (prompts []Prompt) {
	of := Of{Session: session}
	for line := range bytes.Lines(part) {
		if line = shortened(line); !of.has(line) {
			continue
		}
		var named struct {
			ID string    `json:"promptId"`
			At time.Time `json:"timestamp"`
		}
		m, ok := claudeTurnMessage(line)
		if ok && m.isPrompt() && json.Unmarshal(line, &named) == nil && named.ID != "" {
			prompts = append(prompts, Prompt{named.ID, m.text(), core.MillisOf(named.At)})
		}
	}
	return prompts
}

// A claudeTurnLine is the message of a line, as far as a turn is read from it.
type claudeTurnLine struct {
	Role    core.Role       `json:"role"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   claudeUsage     `json:"usage"`

	blocks []claudeTurnBlock
}

type claudeTurnBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   claudeText      `json:"content"`
	IsError   bool            `json:"is_error"`
}

// claudeTurnMessage decodes the message of a line, and not what stands beside it, which
// may be as long again.
func claudeTurnMessage(line []byte) (m claudeTurnLine, ok bool) {
	_, body, _ := bytes.Cut(line, aMessage)
	if json.NewDecoder(bytes.NewReader(body)).Decode(&m) != nil || len(m.Content) == 0 {
		return m, false
	}
	if m.Content[0] == '[' {
		return m, loose(m.Content, &m.blocks)
	}
	text := claudeTurnBlock{Type: "text"}
	ok = json.Unmarshal(m.Content, &text.Text) == nil
	m.blocks = []claudeTurnBlock{text}
	return m, ok
}

// text returns the first text of the message.
func (m claudeTurnLine) text() string {
	for _, b := range m.blocks {
		if b.Type == "text" {
			return b.Text
		}
	}
	return ""
}

// interrupted begins what the client writes where the user stopped it.
const interrupted = "[Request interrupted by user"

// isPrompt reports whether the message begins a turn. What the host tells of a task does,
// too.
func (m claudeTurnLine) isPrompt() bool {
	text := m.text()
	return m.Role == core.RoleUser && text != "" && !strings.HasPrefix(text, interrupted) && !strings.HasPrefix(text, "<local-command-") &&
		!slices.ContainsFunc(m.blocks, func(b claudeTurnBlock) bool { return b.Type == "tool_result" })
}

// A claudeTurn is the state between lines, which are read from the last one back.
type claudeTurn struct {
	results  map[string]claudeTurnBlock
	answered bool // a line of the agent's was met
}

// take adds a message to what is known of the turn.
func (r *claudeTurn) take(t *Turn, m claudeTurnLine) {
	if m.Role == core.RoleUser {
		if text := m.text(); strings.HasPrefix(text, interrupted) && !r.answered {
			t.Stopped = text
		}
		for _, b := range m.blocks {
			if b.Type == "tool_result" {
				r.results[b.ToolUseID] = b
			}
		}
		return
	}
	if u := m.Usage; t.Tokens == 0 {
		t.Model, t.Tokens = m.Model, int(u.Input+u.CacheRead+u.CacheWritten)
	}
	if text := m.text(); !r.answered {
		t.Said = text
		t.Over = text != "" && t.Stopped == "" && !slices.ContainsFunc(m.blocks, func(b claudeTurnBlock) bool { return b.Type == "tool_use" })
	}
	r.answered = true
	for _, b := range slices.Backward(m.blocks) {
		if result, ended := r.results[b.ID]; ended && b.Type == "tool_use" {
			t.Calls = append(t.Calls, claudeCall(b, result))
		}
	}
}

// claudeExit finds the status that the client writes before the output of a command that
// failed.
var claudeExit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Error: )?Exit code (\d+)`) })

func claudeCall(asked, result claudeTurnBlock) judge.Call {
	call := judge.Call{Tool: asked.Name, Input: callInput(asked.Input), OK: !result.IsError, Output: string(result.Content)}
	if asked.Name != "Bash" {
		return call
	}
	if found := claudeExit().FindStringSubmatch(call.Output); result.IsError && found != nil {
		if status, err := strconv.Atoi(found[1]); err == nil {
			call.Exit = &status
		}
	} else if !result.IsError && !bytes.Contains(asked.Input, []byte(`"run_in_background":true`)) {
		call.Exit = new(0)
	}
	return call
}

// What is kept of a string of JSON that is longer than both, in bytes.
const (
	keptHead = 1 << 10
	keptTail = 2 << 10
)

// maxEscape is the length in bytes of the longest escape in a string of JSON, a pair of
// surrogates.
const maxEscape = 12

// shortened returns JSON without the middle of its long strings: to decode those would
// take most of the time.
func shortened(text []byte) []byte {
	if len(text) <= keptHead+keptTail {
		return text
	}
	short := make([]byte, 0, keptHead+keptTail)
	for {
		open := bytes.IndexByte(text, '"') + 1
		size := stringSize(text[open:])
		if open == 0 || size < 0 {
			return append(short, text...)
		}
		inside := text[open : open+size]
		head, tail := inside, inside[size:]
		if size > keptHead+keptTail {
			head, tail = beforeEscape(inside[:keptHead]), afterEscape(inside[size-keptTail:])
		}
		short = append(append(append(short, text[:open]...), head...), tail...)
		short = append(short, '"')
		text = text[open+size+1:]
	}
}

// stringSize returns the length of the string of JSON at the beginning of text, which is
// behind its first quote; -1 if it has no end.
func stringSize(text []byte) int {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		escapes := 0
		for escapes < at && text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// beforeEscape returns the beginning of a string of JSON up to where no escape is cut.
func beforeEscape(text []byte) []byte {
	for cut := range maxEscape {
		if short := text[:len(text)-cut]; isString(short) {
			return short
		}
	}
	return nil // it is no JSON
}

// afterEscape returns the end of a string of JSON from where no escape is cut.
func afterEscape(text []byte) []byte {
	for cut := range maxEscape {
		if isString(text[cut:]) {
			return text[cut:]
		}
	}
	return nil
}

func isString(inside []byte) bool { return json.Valid(slices.Concat([]byte{'"'}, inside, []byte{'"'})) }

// telling are the names of what tells most of a call, in the inputs of hosts' tools.
var telling = []string{"command", "file_path", "filePath", "notebook_path", "path", "pattern", "description", "query", "url", "prompt"}

// callInput returns what a call of a tool is about, in a few words.
func callInput(input json.RawMessage) string {
	var fields Entry
	if json.Unmarshal(input, &fields) != nil {
		return string(input)
	}
	for _, name := range telling {
		if text := fields.Text(name); text != "" {
			return text
		}
	}
	return string(input)
}
