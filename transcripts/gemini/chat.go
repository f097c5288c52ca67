// Package gemini reads the logs that Gemini CLI keeps of its sessions, and what it prints.
package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"flame/core"
	"flame/transcripts"
)

// The formats of Gemini CLI.
var (
	// Chat is the JSONL file of a session or of a subagent, which is a session of its own in a
	// folder with the name of its parent. Lines repeat a message when there is more of it.
	Chat = &transcripts.Format{
		Name: "Gemini CLI's chat files", Host: "gemini", Kept: true,
		Lines: func() func([]byte) core.Message { return newChat().line },
		Split: messagesOf,
		Entry: func(e transcripts.Entry) bool { return isChat(e) && !e.Has("messages") },
	}
	// Document is the file of a session of clients before 0.38: one document.
	Document = &transcripts.Format{
		Name: "Gemini CLI's former chat files", Host: "gemini", Document: document,
		Entry: func(e transcripts.Entry) bool { return isChat(e) && e.Has("messages") },
		Head:  func(head []byte) bool { return documents().Match(head) },
	}
	// Run is the output of the client.
	Run = &transcripts.Format{
		Name: "Gemini CLI's stream-json", Host: "gemini",
		Lines: func() func([]byte) core.Message { return (&run{}).line },
		Entry: func(e transcripts.Entry) bool {
			return e.Text("type") == "init" && e.Text("session_id") != "" && e.Has("model")
		},
	}
)

func isChat(e transcripts.Entry) bool {
	return e.Text("sessionId") != "" && e.Text("projectHash") != ""
}

// documents finds the beginning of a document that is longer than what is read of it.
var documents = core.Pattern(`^\s*\{\s*"sessionId":\s*"[^"]+",\s*"projectHash":\s*"[^"]+"`)

// A chat is the state between the lines of a session's file.
type chat struct {
	session  string
	subagent bool
	asked    bool            // a subagent: its task was read
	answer   string          // id of the last answer whose text was read
	calls    map[string]bool // calls of that answer that were read
	told     map[string]bool // messages that were read
}

func newChat() *chat { return &chat{calls: map[string]bool{}, told: map[string]bool{}} }

// messagesOf returns a line that sets all messages as itself, and a line for each of these: some stand
// nowhere else.
func messagesOf(line []byte) (lines [][]byte) {
	var r struct {
		Set struct {
			Messages []json.RawMessage `json:"messages"`
		} `json:"$set"`
	}
	if !bytes.Contains(line, []byte(`"$set"`)) || !transcripts.DecodeLenient(line, &r) || len(r.Set.Messages) == 0 {
		return nil
	}
	lines = [][]byte{line}
	for _, m := range r.Set.Messages {
		lines = append(lines, fmt.Appendf(nil, `{"set":%s}`, m))
	}
	return lines
}

// document reads the file of a session that is one document.
func document(from io.Reader) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		var d struct {
			Messages []json.RawMessage `json:"messages"`
		}
		whole, err := io.ReadAll(from)
		if err == nil && !transcripts.DecodeLenient(bytes.TrimPrefix(whole, []byte("\ufeff")), &d) {
			err = transcripts.ErrIncompleteLine
		}
		if err != nil {
			yield(core.Message{}, err)
			return
		}
		c := newChat()
		if !yield(c.line(whole), nil) {
			return
		}
		for _, message := range d.Messages {
			m := c.line(message)
			if m.Usage = m.Usage.Possible(); !yield(m, nil) {
				return
			}
		}
	}
}

// A record is a line of a chat.
type record struct {
	Session  string                  `json:"sessionId"`
	Project  string                  `json:"projectHash"`
	Kind     string                  `json:"kind"` // of the session: main or subagent
	Started  transcripts.LenientTime `json:"startTime"`
	Set      *change                 `json:"$set"`
	RewindTo string                  `json:"$rewindTo"`
	One      *message                `json:"set"` // of the messages that a line set, see messagesOf
	message
}

// A change sets fields of the session.
type change struct {
	Messages []message `json:"messages"` // that take the place of all messages before
	Summary  string    `json:"summary"`  // of a subagent that has ended
}

// A message is one of the user's, of the model's or of the client's.
type message struct {
	ID       string                  `json:"id"`
	Time     transcripts.LenientTime `json:"timestamp"`
	Type     string                  `json:"type"`
	Content  content                 `json:"content"`
	Thoughts []struct {
		Subject string `json:"subject"`
		Text    string `json:"description"`
	} `json:"thoughts"`
	Tokens *tokens `json:"tokens"`
	Model  string  `json:"model"`
	Calls  []call  `json:"toolCalls"`
}

// tokens are the usage of an answer. What is read from the cache is part of the input; the tokens of
// thoughts are not part of the output.
type tokens struct {
	Input    int64 `json:"input"`
	Output   int64 `json:"output"`
	Cached   int64 `json:"cached"`
	Thoughts int64 `json:"thoughts"`
	Tool     int64 `json:"tool"`
}

func (t *tokens) usage() core.Usage {
	if t == nil {
		return core.Usage{}
	}
	return core.Usage{
		TokensIn: max(0, t.Input-t.Cached) + max(0, t.Tool), TokensOut: max(0, t.Output) + max(0, t.Thoughts), CacheRead: max(0, t.Cached),
	}
}

// chatAsides are the types of messages that the client shows to people and not to the model.
var chatAsides = map[string]bool{"info": true, "error": true, "warning": true}

// maxCalls bounds the calls of an answer that are remembered.
const maxCalls = 1024

// maxTold bounds the messages that are remembered.
const maxTold = 1 << 16

// line reads a line of a session's file.
func (c *chat) line(text []byte) core.Message {
	var r record
	if !transcripts.DecodeLenient(text, &r) {
		return transcripts.OtherMessage(text)
	}
	isNew := c.session != "" // else the reading began behind the first line, and they may be old
	if r.One != nil {
		isNew = isNew && !c.told[r.One.ID] && !IsSummary(r.One.Content.String())
		r.message = *r.One
	}
	if len(c.told) < maxTold {
		c.told[r.ID] = true
	}
	switch {
	case r.One != nil && !isNew:
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, c.session), true)
	case r.Set != nil:
		return c.changed(text, *r.Set)
	case r.Type == "user":
		return c.said(text, r.message)
	case r.Type == "gemini":
		return c.answered(r.message)
	case r.Session != "" && r.Project != "":
		c.session, c.subagent = r.Session, r.Kind == "subagent"
		return transcripts.AgentMessage(text, c.session, core.AgentInfo{
			ID: c.session, Spawn: c.subagent, Started: core.Millis(r.Started), // a resume writes this line to a new file, and goes on in the old one
		})
	}
	return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, c.session), r.RewindTo != "" || chatAsides[r.Type])
}

// changed reads a line that changes fields of the session.
func (c *chat) changed(text []byte, set change) core.Message {
	if summary, at := set.snapshot(); summary != "" {
		return core.Message{
			Session: c.session, Time: at, Role: core.RoleUser, Summary: true, Parts: []core.Part{{Type: core.PartText, Text: summary}},
		}
	}
	if set.Summary != "" && c.session != "" {
		return transcripts.AgentMessage(text, c.session, core.AgentInfo{ID: c.session, State: core.AgentCompleted, Result: set.Summary})
	}
	return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, c.session), true)
}

// snapshots finds the summary of a compaction.
var snapshots = core.Pattern(`(?s)<state_snapshot>\s*(.*?)\s*</state_snapshot>`)

// snapshot returns the summary with which the new messages begin, if a compaction made them.
func (s change) snapshot() (summary string, at core.Millis) {
	for _, m := range s.Messages[:min(len(s.Messages), 2)] { // the client's own words may come first
		if found := snapshots().FindStringSubmatch(m.Content.String()); m.Type == "user" && found != nil {
			return found[1], core.Millis(m.Time)
		}
	}
	return "", 0
}

// said reads a message of the user's, or the results of calls, which their answer has too. In a
// subagent's file the first message is its task.
func (c *chat) said(text []byte, m message) core.Message {
	if len(m.Content) == 0 {
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, c.session), true)
	}
	words := m.Content.words()
	read := core.Message{
		Session: c.session, Time: core.Millis(m.Time), Role: core.RoleUser, Synthetic: words == "",
		Parts: []core.Part{{Type: core.PartText, Text: cmp.Or(words, m.Content.String())}},
	}
	if c.subagent && !c.asked && words != "" {
		c.asked = true
		read.Notes = []core.AgentInfo{{ID: c.session, Prompt: words}}
	}
	return read
}

// answered reads an answer: its text the first time, then its calls, each with its result. An answer
// without calls ends a turn, unless a later line has calls of it.
func (c *chat) answered(m message) core.Message {
	read := core.Message{
		Session: c.session, ID: m.ID, Time: core.Millis(m.Time), Role: core.RoleAssistant, Model: m.Model,
		Usage: transcripts.WithPrice(m.Model, m.Tokens.usage()),
	}
	state := core.AgentInfo{ID: c.session, State: core.AgentActive}
	if said := m.Content.String(); len(m.Calls) == 0 && said != "" {
		state.State, state.Result = core.AgentCompleted, said
	}
	if m.ID == "" || m.ID != c.answer {
		c.answer = m.ID
		clear(c.calls)
		for _, t := range m.Thoughts {
			read.Parts = append(read.Parts, core.Part{Type: core.PartReasoning, Text: strings.TrimSpace(t.Subject + "\n" + t.Text)})
		}
		if said := m.Content.String(); said != "" {
			read.Parts = append(read.Parts, core.Part{Type: core.PartText, Text: said})
		}
	}
	for _, call := range m.Calls {
		if c.calls[call.ID] {
			continue
		}
		if len(c.calls) < maxCalls {
			c.calls[call.ID] = true
		}
		read.Usage.ToolCalls++
		read.Parts = append(read.Parts, core.Part{Type: core.PartToolCall, CallID: call.ID, Tool: call.Name, Input: call.Args}, call.result())
		if child := call.child(); child.Prompt != "" {
			read.Notes = append(read.Notes, child.note(c.session))
		}
		if result := call.completes(); result != "" {
			state.State, state.Result = core.AgentCompleted, result
		}
	}
	if c.session != "" { // without it, the reading began behind the first line
		read.Notes = append(read.Notes, state)
	}
	return read
}

// A content is the texts of a message: one, or those of a list of parts.
type content []string

// UnmarshalJSON never fails.
func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if *c = nil; text != "" {
			*c = content{text}
		}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	transcripts.DecodeLenient(raw, &parts)
	for _, p := range parts {
		if p.Text != "" {
			*c = append(*c, p.Text)
		}
	}
	return nil
}

func (c content) String() string { return strings.Join(c, "") }

// words returns what a person wrote, or the agent that started a subagent.
func (c content) words() string {
	var words []string
	for _, text := range c {
		if text = UserText(text); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, "\n")
}

// UserText returns what a person, or the agent that started a subagent, wrote in a text of the user's; empty
// if all of it is the client's own.
func UserText(text string) string {
	text = WithoutContext(text)
	if strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<loaded_context>") {
		return ""
	}
	return text
}

// IsSummary reports whether a text of the user's is the result of a compaction.
func IsSummary(text string) bool { return snapshots().MatchString(text) }

// contexts finds what hooks added to a prompt.
var contexts = core.Pattern(`(?s)<hook_context>.*?</hook_context>`)

// WithoutContext returns a prompt without what hooks added to it.
func WithoutContext(prompt string) string {
	if !strings.Contains(prompt, "<hook_context>") {
		return strings.TrimSpace(prompt)
	}
	return strings.TrimSpace(contexts().ReplaceAllString(prompt, ""))
}

// untrusted finds what the client puts around the results of servers' tools.
var untrusted = core.Pattern(`(?s)^\s*<untrusted_context[^>]*>\s*(.*?)\s*</untrusted_context>`)

// Unwrapped returns the result of a server's tool without what the client puts around it.
func Unwrapped(result string) string {
	if found := untrusted().FindStringSubmatch(result); found != nil {
		return found[1]
	}
	return result
}
