package core

import (
	"encoding/json"
	"slices"
)

// Role is the speaker of a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleOther     Role = "other" // a line of a log that is not a message; see Raw
)

// A Message is one entry of a host's log. A reader turns entries that it does
// not know into messages of RoleOther, so that nothing is lost and the order stays.
type Message struct {
	ID   string `json:"id,omitempty"` // the host's; the lines of one answer share it
	Role Role   `json:"role"`         //
	// Session is the host's session; in Claude Code a subagent's lines name the
	// session it runs in, in OpenCode a subagent is a session itself.
	Session    string          `json:"session,omitempty"`
	Host       string          `json:"-"`                   // whose log has it; empty if the reader does not say
	Agent      string          `json:"agent,omitempty"`     // of the subagent that wrote the line; empty for the session itself
	SpawnCall  string          `json:"spawnCall,omitempty"` // id of the tool call that started that subagent, if the line has it
	Time       Millis          `json:"time,omitempty"`
	Model      string          `json:"model,omitempty"`
	Parts      []Part          `json:"parts,omitempty"`
	Usage      Usage           `json:"usage,omitzero"`      // that this line adds to what earlier lines told of the answer
	Whole      Usage           `json:"-"`                   // of the answer so far, without calls; unset if the log tells it once
	Copied     bool            `json:"copied,omitempty"`    // from the session of which this is a fork, where its usage counts
	Final      bool            `json:"final,omitempty"`     // the answer ends the turn: it calls no tool
	Synthetic  bool            `json:"synthetic,omitempty"` // the host wrote it: a message of the user, or a report of usage beside the answer
	Irrelevant bool            `json:"aside,omitempty"`     // of RoleOther: of a kind known not to concern agents
	Error      string          `json:"error,omitempty"`     // why there is no answer
	Summary    bool            `json:"summary,omitempty"`   // the result of a compaction
	Notes      []AgentInfo     `json:"notes,omitempty"`     // what the line says about sessions and agents
	Raw        json.RawMessage `json:"raw,omitempty"`       // of RoleOther: the line itself, as a JSON string if it is not JSON
	Media      json.RawMessage `json:"-"`                   // what the log has of an entry that was asked for, if that may have pictures
}

// Copy returns the message as a copy of another session's.
func (m Message) Copy() Message {
	m.Copied, m.Usage, m.Whole = true, Usage{}, Usage{}
	return m
}

// Unknown reports whether the reader does not know the meaning of the entry.
func (m Message) Unknown() bool { return m.Role == RoleOther && len(m.Notes) == 0 && !m.Irrelevant }

// Speaker returns the id of the agent or session that wrote the entry, or "" if
// the log does not say or has only a SpawnCall.
func (m Message) Speaker() string {
	if m.Agent != "" || m.SpawnCall != "" {
		return m.Agent
	}
	return m.Session
}

// SpeakerLabel says who speaks, for people to read.
func (m Message) SpeakerLabel() string {
	switch {
	case m.Summary:
		return "summary of earlier messages"
	case m.Role == RoleAssistant:
		return "assistant"
	case m.Synthetic:
		return "host"
	}
	return "user"
}

// PartType is the type of a part of a message.
type PartType string

// The types of parts.
const (
	PartText       PartType = "text"
	PartReasoning  PartType = "reasoning"
	PartToolCall   PartType = "tool_call"
	PartToolResult PartType = "tool_result"
)

// A Part is a piece of a message.
type Part struct {
	Type   PartType        `json:"type"`
	Text   string          `json:"text,omitempty"`   // of a text, of reasoning, or a tool's answer
	CallID string          `json:"callID,omitempty"` // of a tool's call, and again of its result
	Tool   string          `json:"tool,omitempty"`   // by the host's name for it
	Input  json.RawMessage `json:"input,omitempty"`  // of a tool's call
	Failed bool            `json:"failed,omitempty"` // the tool answered with an error
	Files  []FileChange    `json:"files,omitempty"`  // of a result: the changes by the call; of a call, if its host reports no results: the requested changes
}

// AgentState is the state of an agent's run.
type AgentState string

// The states of an agent.
const (
	AgentInitializing AgentState = "initializing"
	AgentActive       AgentState = "active"
	AgentSuspended    AgentState = "suspended"
	AgentCompleted    AgentState = "completed"
	AgentError        AgentState = "error"
	AgentTimeout      AgentState = "timeout"
	AgentCancelled    AgentState = "cancelled"
	AgentOrphaned     AgentState = "orphaned"
)

// AgentStates lists all states.
var AgentStates = []AgentState{
	AgentInitializing, AgentActive, AgentSuspended, AgentCompleted, AgentError, AgentTimeout, AgentCancelled, AgentOrphaned,
}

// Ended reports whether an agent in this state has stopped for good.
func (s AgentState) Ended() bool {
	return !slices.Contains([]AgentState{"", AgentInitializing, AgentActive, AgentSuspended}, s)
}

// An AgentInfo is what an entry of a log says about a session or an agent. ID
// and Call both identify it; one may be missing. Zero fields say nothing: all
// notes of an agent together describe it.
type AgentInfo struct {
	ID          string     `json:"id,omitempty"`     // of the agent (Claude Code) or the session (both hosts)
	Call        string     `json:"call,omitempty"`   // id of the tool call that started or resumed it
	Spawn       bool       `json:"spawn,omitempty"`  // it is certainly an agent; other notes may be about tasks that are not
	Parent      string     `json:"parent,omitempty"` // id of the agent or session that started it
	Type        string     `json:"agentType,omitempty"`
	Prompt      string     `json:"prompt,omitempty"`
	Description string     `json:"description,omitempty"`
	Model       string     `json:"model,omitempty"`
	Tools       []string   `json:"tools,omitempty"`       // offered to it, beyond those in earlier notes
	Denied      []string   `json:"denied,omitempty"`      // tools that it may not use
	State       AgentState `json:"state,omitempty"`       //
	Error       string     `json:"error,omitempty"`       // why it ended in AgentError
	Result      string     `json:"result,omitempty"`      // its last words
	Started     Millis     `json:"started,omitempty"`     //
	Ended       Millis     `json:"ended,omitempty"`       //
	Turn        Usage      `json:"turn,omitzero"`         // of a whole turn, more exact than its messages; turns add up
	Total       Usage      `json:"total,omitzero"`        // of the session so far, earlier processes included, without its agents
	Thinking    int64      `json:"thinking,omitempty"`    // reasoning tokens in the turn, part of its output; turns add up
	Refused     []string   `json:"refused,omitempty"`     // tools it called but was not allowed to use
	TreeCostUSD float64    `json:"treeCostUSD,omitempty"` // of it and everything below it so far, in US dollars
	Tokens      int64      `json:"tokens,omitempty"`      // its context and last answer, if the host reports nothing more
	ToolCalls   int64      `json:"toolCalls,omitempty"`   // so far
}

// A LogPosition is the position up to which a host's log of a session has been
// read. The zero value is the beginning.
type LogPosition struct {
	Offset int64  `json:"offset"`         // in bytes, after the last whole line
	Last   string `json:"last,omitempty"` // id of the last answer whose tokens were counted; its further lines repeat them
}

// A LogEntry is one line of a host's log.
type LogEntry struct {
	Message
	Next LogPosition // after the line
}

// ChangeKind says how a file changed.
type ChangeKind string

// The kinds of changes.
const (
	FileAdded    ChangeKind = "added"
	FileModified ChangeKind = "modified"
	FileDeleted  ChangeKind = "deleted"
)

// A FileChange is the change of one file by one tool call, as its host reports it.
type FileChange struct {
	Path    string     `json:"path"`           // as the host has it, mostly absolute
	From    string     `json:"from,omitempty"` // its path before the call moved it
	Kind    ChangeKind `json:"kind"`           //
	Added   int        `json:"added"`          // lines
	Removed int        `json:"removed"`        // lines
	// Patch has the hunks of a unified diff. A hunk without a known place in the file
	// begins with "@@ @@".
	Patch   string `json:"patch,omitempty"`
	Cut     bool   `json:"cut,omitempty"`     // the patch was too long and lacks its end; the numbers of lines are still exact
	Inexact bool   `json:"inexact,omitempty"` // the host reports what was written, but not everything that it replaced
}

// Combine returns the kind of two changes in a row: k, then later.
func (k ChangeKind) Combine(later ChangeKind) ChangeKind {
	switch {
	case k == FileAdded && later == FileModified:
		return FileAdded
	case k == FileDeleted && later == FileAdded:
		return FileModified
	}
	return later
}
