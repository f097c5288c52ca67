package transcripts

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"flame/core"
	"flame/core/evidence"
)

// A TurnSummary is the last turn of a session, as far as its log or its host shows it.
type TurnSummary struct {
	Calls   []evidence.Call // the last calls, oldest first, with the beginnings and ends of long texts
	Said    string          // the agent's last words
	Stopped string          // the host's words if the user stopped it; else empty
	Over    bool            // it ended by itself: its last answer has a text, and calls no tool
	Model   string          // of the last answer, by the host's name for it; may be empty
	Tokens  int             // in the context at the last answer; 0: unknown
	Window  int             // tokens that the model takes; 0: not shown
	Whole   bool            // nothing is missing; false if the host's log may lag behind
}

// MaxTurnCalls bounds the calls of a turn.
const MaxTurnCalls = 20

// LineFilter selects the lines of a file: those of a session itself, or of a subagent.
type LineFilter struct{ Session, Agent string }

// ClaudeTurn returns the last turn from the end of a session's or subagent's file. It skips
// lines of others and unreadable lines, such as a cut first line. With asked, the newest prompt
// began the turn; else an unanswered prompt may follow the turn. It decodes only the beginning
// and end of long texts: hooks must be fast.
func ClaudeTurn(end []byte, of LineFilter, asked bool) (t TurnSummary) {
	r := claudeTurn{results: map[string]core.Part{}}
	for line := range Backwards(end) {
		m, ok := of.message(ShortenJSON(line))
		if !ok {
			continue
		}
		if len(t.Calls) >= MaxTurnCalls || m.isPrompt() && (asked || r.answered || t.Stopped != "") {
			break
		}
		r.take(&t, m)
	}
	slices.Reverse(t.Calls)
	return t
}

// ClaudeWords returns what the agent said last before a call, from the end of its file, which may not have
// the call yet; empty if a prompt, or another call of one of tools, stands between.
func ClaudeWords(end []byte, of LineFilter, call string, tools []string) string {
	own, other := "", "" // the messages of the call, and of another one
	for line := range Backwards(end) {
		m, ok := of.message(ShortenJSON(line))
		if !ok {
			continue
		}
		for _, p := range m.Content.parts {
			if p.Tool != "" && p.CallID == call {
				own, other = m.ID, ""
			} else if slices.Contains(tools, p.Tool) && m.ID != own {
				other = m.ID
			}
		}
		if text := firstText(m.Content.parts); m.isPrompt() || other != "" && (own != "" || text != "") {
			return ""
		} else if text != "" && m.Role == core.RoleAssistant {
			return text
		}
	}
	return ""
}

// Marks of a line. They cannot be in a text, where quotes are escaped.
var (
	aMessage  = []byte(`"message":`)
	aSidekick = []byte(`"isSidechain":true`)
	anAside   = []byte(`"isMeta":true`)
	aSummary  = []byte(`"isCompactSummary":true`)
)

// has reports whether of selects a line, and the line is a message.
func (of LineFilter) has(line []byte) bool {
	if !bytes.Contains(line, aMessage) || bytes.Contains(line, anAside) || bytes.Contains(line, aSummary) {
		return false
	}
	if of.Agent != "" {
		return bytes.Contains(line, []byte(`"agentId":"`+of.Agent+`"`))
	}
	return bytes.Contains(line, []byte(`"sessionId":"`+of.Session+`"`)) && !bytes.Contains(line, aSidekick)
}

// A Prompt is a prompt in a log.
type Prompt struct {
	ID, Text string
	At       core.Millis
}

// ClaudePrompts returns the prompts of a session in a part of its file, oldest first. Of a long
// prompt it returns the beginning and the end.
func ClaudePrompts(part []byte, session string) (prompts []Prompt) {
	of := LineFilter{Session: session}
	for line := range bytes.Lines(part) {
		line = ShortenJSON(line)
		var named struct {
			ID string    `json:"promptId"`
			At time.Time `json:"timestamp"`
		}
		m, ok := of.message(line)
		if ok && m.isPrompt() && json.Unmarshal(line, &named) == nil && named.ID != "" {
			prompts = append(prompts, Prompt{named.ID, firstText(m.Content.parts), core.MillisOf(named.At)})
		}
	}
	return prompts
}

// message decodes only the message of a line, if of selects it. The other fields may be as long again.
func (of LineFilter) message(line []byte) (m claudeBody, ok bool) {
	_, body, _ := bytes.Cut(line, aMessage)
	ok = of.has(line) && json.NewDecoder(bytes.NewReader(body)).Decode(&m) == nil && m.Content.known
	return m, ok
}

// has reports whether the content has a part of a type.
func (c claudeContent) has(kind core.PartType) bool {
	return slices.ContainsFunc(c.parts, func(p core.Part) bool { return p.Type == kind })
}

// interrupted begins the text that the client writes when the user stops it.
const interrupted = "[Request interrupted by user"

// isPrompt reports whether the message begins a turn. A host's report on a task begins one,
// too.
func (m claudeBody) isPrompt() bool {
	text := firstText(m.Content.parts)
	return m.Role == core.RoleUser && text != "" && !strings.HasPrefix(text, interrupted) && !strings.HasPrefix(text, "<local-command-") &&
		!m.Content.has(core.PartToolResult)
}

// A claudeTurn is the state between lines. ClaudeTurn reads them backwards.
type claudeTurn struct {
	results  map[string]core.Part
	answered bool // a line of the agent has been read
}

// take adds a message to the turn.
func (r *claudeTurn) take(t *TurnSummary, m claudeBody) {
	if m.Role == core.RoleUser {
		if text := firstText(m.Content.parts); strings.HasPrefix(text, interrupted) && !r.answered {
			t.Stopped = text
		}
		for _, p := range m.Content.parts {
			if p.Type == core.PartToolResult {
				r.results[p.CallID] = p
			}
		}
		return
	}
	if u := m.Usage; t.Tokens == 0 {
		t.Model, t.Tokens = m.Model, int(u.Input+u.CacheRead+u.CacheWritten)
	}
	if text := firstText(m.Content.parts); !r.answered {
		t.Said = text
		t.Over = text != "" && t.Stopped == "" && !m.Content.has(core.PartToolCall)
	}
	r.answered = true
	for _, p := range slices.Backward(m.Content.parts) {
		if result, ended := r.results[p.CallID]; ended && p.Type == core.PartToolCall {
			t.Calls = append(t.Calls, claudeCall(p, result))
		}
	}
}

// claudeExit finds the status that the client writes before the output of a failed command.
var claudeExit = core.Pattern(`^(?:Error: )?Exit code (\d+)`)

func claudeCall(asked, result core.Part) evidence.Call {
	call := evidence.Call{Tool: asked.Tool, Input: CallInput(asked.Input), OK: !result.Failed, Output: result.Text}
	if asked.Tool != "Bash" {
		return call
	}
	if found := claudeExit().FindStringSubmatch(call.Output); result.Failed && found != nil {
		if status, err := strconv.Atoi(found[1]); err == nil {
			call.Exit = &status
		}
	} else if !result.Failed && !bytes.Contains(asked.Input, []byte(`"run_in_background":true`)) {
		call.Exit = new(0)
	}
	return call
}

// Backwards returns the lines of the end of a log, the last one first.
func Backwards(end []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(end) > 0 {
			end = bytes.TrimRight(end, "\r\n")
			line := end[bytes.LastIndexByte(end, '\n')+1:]
			end = end[:len(end)-len(line)]
			if !yield(line) {
				return
			}
		}
	}
}

// The sizes in bytes of the beginning and the end that are kept of a long string of JSON.
const (
	keptHead = 1 << 10
	keptTail = 2 << 10
)

// maxEscape is the length in bytes of the longest escape in a string of JSON, a pair of
// surrogates.
const maxEscape = 12

// ShortenJSON returns JSON without the middle of its long strings: decoding them would take most
// of the time.
func ShortenJSON(text []byte) []byte {
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

// stringSize returns the length of a string of JSON; -1 if it has no end. text begins after the
// string's first quote.
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

// beforeEscape returns the beginning of a string of JSON without a cut escape at its end.
func beforeEscape(text []byte) []byte {
	for cut := range maxEscape {
		if short := text[:len(text)-cut]; isString(short) {
			return short
		}
	}
	return nil // it is not JSON
}

// afterEscape returns the end of a string of JSON without a cut escape at its beginning.
func afterEscape(text []byte) []byte {
	for cut := range maxEscape {
		if isString(text[cut:]) {
			return text[cut:]
		}
	}
	return nil
}

func isString(inside []byte) bool { return json.Valid(slices.Concat([]byte{'"'}, inside, []byte{'"'})) }

// telling are the arguments of hosts' tools that tell most about a call, the best first.
var telling = []string{"command", "file_path", "filePath", "notebook_path", "pattern", "path", "description", "query", "url", "prompt"}

// CallInput returns the argument of a call that tells most about it, else the whole input.
func CallInput(input json.RawMessage) string {
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
