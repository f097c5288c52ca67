package transcripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"flame/core"
)

// OpenCode reads the output of `opencode export` for a session: one JSON document. In it, a
// tool's call and its answer are parts of the same message. A truncated document ends with an
// ErrTorn.
func OpenCode(r io.Reader) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		err := openCodeDocument(json.NewDecoder(r), func(m core.Message) bool { return yield(m, nil) })
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = ErrIncompleteLine
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(core.Message{}, fmt.Errorf("export of a session: %w", err))
		}
	}
}

// errEnough ends the reading of a document when the caller wants no more messages.
var errEnough = errors.New("enough")

// openCodeDocument reads a document value by value: it may be larger than the memory.
func openCodeDocument(d *json.Decoder, give func(core.Message) bool) error {
	var session core.Message
	if err := opens(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "info":
			err = openCodeValue(d, openCodeInfoMessage, func(m core.Message) bool { session = m; return give(m) })
		case "messages":
			err = openCodeList(d, ownAfter(session, give))
		default:
			err = openCodeValue(d, OtherMessage, give)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func openCodeList(d *json.Decoder, give func(core.Message) bool) error {
	if err := opens(d, '['); err != nil {
		return err
	}
	for d.More() {
		if err := openCodeValue(d, openCodeMessage, give); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// openCodeValue reads one value with parse.
func openCodeValue(d *json.Decoder, parse parser, give func(core.Message) bool) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if !give(parse(raw)) {
		return errEnough
	}
	return nil
}

func opens(d *json.Decoder, with json.Delim) error {
	token, err := d.Token()
	if err == nil && token != with {
		err = fmt.Errorf("%v is where a %v should be", token, with)
	}
	return err
}

// ownAfter returns give for the messages of a session, by its note about itself: older ones are copies
// from the session of which it is a fork.
func ownAfter(session core.Message, give func(core.Message) bool) func(core.Message) bool {
	return func(m core.Message) bool {
		if len(session.Notes) > 0 && m.Role == core.RoleAssistant && m.Time != 0 && m.Time < session.Notes[0].Started {
			m = m.Copy()
		}
		return give(m)
	}
}

// An openCodeSession has the fields of a session that flame reads.
type openCodeSession struct {
	ID       string `json:"id"`
	ParentID string `json:"parentID"`
	Title    string `json:"title"`
	Agent    string `json:"agent"`
	Model    struct {
		ID string `json:"id"`
	} `json:"model"`
	Permission []struct {
		Permission string `json:"permission"`
		Pattern    string `json:"pattern"`
		Action     string `json:"action"`
	} `json:"permission"`
	Time struct {
		Created core.Millis `json:"created"`
	} `json:"time"`
}

// flameAgent is OpenCode's name for all agents that flame starts. The title of the session
// names the agent.
const flameAgent = "flame-agent"

// note returns the session's note about itself. A subagent's title ends with its type.
func (s openCodeSession) note() core.AgentInfo {
	n := core.AgentInfo{
		ID: s.ID, Spawn: s.ParentID != "", Parent: s.ParentID, Type: s.Agent, Description: core.SubagentGoal(s.Title),
		Model: s.Model.ID, Started: s.Time.Created,
	}
	if s.Agent == flameAgent || s.Agent == "" {
		n.Type = between(s.Title[len(n.Description):], "(@", " subagent)")
	}
	for _, rule := range s.Permission {
		if rule.Pattern == "*" && rule.Action == "deny" {
			n.Denied = append(n.Denied, rule.Permission)
		}
	}
	return n
}

func openCodeInfoMessage(raw []byte) core.Message {
	var s openCodeSession
	if !DecodeLenient(raw, &s) || s.ID == "" {
		return OtherMessage(raw)
	}
	return AgentMessage(raw, s.ID, s.note())
}

// An openCodeInfo has the fields of a message, without its parts, that flame reads.
type openCodeInfo struct {
	ID        string          `json:"id"`
	SessionID string          `json:"sessionID"`
	Role      string          `json:"role"`
	ModelID   string          `json:"modelID"`
	Summary   json.RawMessage `json:"summary"` // true in the summary of a compaction; an object in users' messages
	Finish    string          `json:"finish"`
	Error     openCodeError   `json:"error"`
	Tools     map[string]bool `json:"tools"` // whether they are offered
	Cost      float64         `json:"cost"`
	Tokens    openCodeTokens  `json:"tokens"`
	Time      struct {
		Created core.Millis `json:"created"`
	} `json:"time"`
}

type openCodeError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

// text returns the error's text; empty without an error.
func (e openCodeError) text() string {
	if e.Data.Message == "" {
		return e.Name
	}
	return e.Data.Message
}

// state returns the state of a session after an error.
func (e openCodeError) state() core.AgentState {
	if e.Name == "MessageAbortedError" {
		return core.AgentCancelled
	}
	return core.AgentError
}

type openCodeTokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

// usage counts reasoning as output, because its price is that of output.
func (t openCodeTokens) usage(costUSD float64) core.Usage {
	return core.Usage{
		TokensIn: t.Input, TokensOut: t.Output + t.Reasoning, CacheRead: t.Cache.Read, CacheWritten: t.Cache.Write, CostUSD: costUSD,
	}
}

func openCodeMessage(raw []byte) core.Message {
	var entry struct {
		Info  openCodeInfo   `json:"info"`
		Parts []openCodePart `json:"parts"`
	}
	known := DecodeLenient(raw, &entry)
	if entry.Info.Role == "" && len(entry.Info.Tools) > 0 {
		entry.Info.Role = string(core.RoleUser) // only prompts list tools
	}
	if !known || !entry.Info.speaks() {
		return OtherMessage(raw)
	}
	return entry.Info.message(entry.Parts)
}

func (i openCodeInfo) speaks() bool { return i.Role == "user" || i.Role == "assistant" }

// message returns the info with its parts as a message.
func (i openCodeInfo) message(parts []openCodePart) core.Message {
	m := core.Message{
		ID: i.ID, Role: core.Role(i.Role), Session: i.SessionID, Time: i.Time.Created, Model: i.ModelID,
		Summary: string(i.Summary) == "true", Usage: i.Tokens.usage(i.Cost).Possible(), Error: i.Error.text(),
		Final: i.Role == "assistant" && finalReason(i.Finish),
	}
	for _, p := range parts {
		p.addTo(&m)
	}
	if m.Error != "" {
		m.Notes = append(m.Notes, core.AgentInfo{ID: i.SessionID, State: i.Error.state(), Error: m.Error})
	}
	if n := (core.AgentInfo{ID: i.SessionID}); len(i.Tools) > 0 {
		for name, offered := range i.Tools {
			if offered {
				n.Tools = append(n.Tools, name)
			} else {
				n.Denied = append(n.Denied, name)
			}
		}
		slices.Sort(n.Tools)
		slices.Sort(n.Denied)
		m.Notes = append(m.Notes, n)
	}
	return m
}

// finalReason reports whether an answer that ended for this reason ends the turn.
func finalReason(reason string) bool { return reason != "" && reason != "tool-calls" }

type openCodePart struct {
	Type      string `json:"type"`
	MessageID string `json:"messageID"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // the host wrote it
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	State     struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Metadata json.RawMessage `json:"metadata"`
		Time     struct {
			Start core.Millis `json:"start"`
			End   core.Millis `json:"end"`
		} `json:"time"`
	} `json:"state"`
	Reason string         `json:"reason"` // of a step-finish
	Tokens openCodeTokens `json:"tokens"`
	Cost   float64        `json:"cost"`
}

// addTo adds the part's content to its message. OpenCode's own marks have no content.
func (p openCodePart) addTo(m *core.Message) {
	switch p.Type {
	case "text":
		m.Synthetic = p.Synthetic && (m.Synthetic || len(m.Parts) == 0)
		m.Parts = append(m.Parts, core.Part{Type: core.PartText, Text: p.Text})
	case "reasoning":
		m.Parts = append(m.Parts, core.Part{Type: core.PartReasoning, Text: p.Text})
	case "tool":
		m.Usage.ToolCalls++
		m.Parts = append(m.Parts, core.Part{Type: core.PartToolCall, CallID: p.CallID, Tool: p.Tool, Input: p.State.Input})
		if p.State.Status == "completed" {
			m.Parts = append(m.Parts, core.Part{Type: core.PartToolResult, CallID: p.CallID, Tool: p.Tool, Text: p.State.Output, Files: p.files()})
		}
		if p.State.Status == "error" {
			m.Parts = append(m.Parts, core.Part{Type: core.PartToolResult, CallID: p.CallID, Tool: p.Tool, Text: p.State.Error, Failed: true})
		}
		if p.Tool == "task" {
			m.Notes = append(m.Notes, p.spawn(m.Session))
		}
	}
}

// openCodeStates are the states of agents by the state of the tool task.
var openCodeStates = map[string]core.AgentState{
	"pending": core.AgentInitializing, "running": core.AgentActive,
	"completed": core.AgentCompleted, "error": core.AgentError,
}

// spawn returns the note of a call of the tool task. A refused call started no session.
func (p openCodePart) spawn(session string) core.AgentInfo {
	var in taskInput
	var meta struct {
		SessionID  string `json:"sessionId"`
		ParentID   string `json:"parentSessionId"`
		Background bool   `json:"background"`
		Model      struct {
			ID string `json:"modelID"`
		} `json:"model"`
	}
	DecodeLenient(p.State.Input, &in)
	DecodeLenient(p.State.Metadata, &meta)
	n := core.AgentInfo{
		ID: meta.SessionID, Call: p.CallID, Spawn: true, Parent: meta.ParentID, Type: in.Type, Prompt: in.Prompt,
		Description: in.Description, Model: meta.Model.ID, State: openCodeStates[p.State.Status], Started: p.State.Time.Start,
	}
	if n.Parent == "" {
		n.Parent = session
	}
	switch {
	case meta.Background && n.State == core.AgentCompleted:
		n.State = core.AgentActive // the call has ended, not the agent
	case n.State == core.AgentCompleted:
		n.Ended, n.Result = p.State.Time.End, TaskResult(p.State.Output)
	case n.State == core.AgentError:
		n.Ended, n.Error = p.State.Time.End, p.State.Error
	}
	return n
}

// TaskResult returns an agent's words without the text that the tool task puts around them.
func TaskResult(output string) string {
	_, text, found := strings.Cut(output, "<task_result>")
	if end := strings.LastIndex(text, "</task_result>"); found && end >= 0 {
		output = text[:end]
	}
	return strings.TrimSpace(output)
}
