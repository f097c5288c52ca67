package core

import "encoding/json"

// Role says who speaks in a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleOther     Role = "other" // a line of a log that is no message; Raw has it
)

// A Message is one entry of a host's log. What a reader does not know is kept as
// a message of RoleOther, so that none is lost and the order stays.
type Message struct {
	ID   string `json:"id,omitempty"` // the host's; the lines of one answer share it
	Role Role   `json:"role"`         //
	// Session is that of the host; in Claude Code a subagent's lines name the session it
	// runs in, in OpenCode it is a session itself.
	Session   string          `json:"session,omitempty"`
	Agent     string          `json:"agent,omitempty"`     // of the subagent whose line it is; empty for the session itself
	SpawnCall string          `json:"spawnCall,omitempty"` // id of the tool call that started that subagent, where the line tells
	Time      Millis          `json:"time,omitempty"`
	Model     string          `json:"model,omitempty"`
	Parts     []Part          `json:"parts,omitempty"`
	Usage     Usage           `json:"usage,omitzero"`      // of the answer; on the first line that has its ID
	Final     bool            `json:"final,omitempty"`     // the answer ends the turn: it calls no tool
	Synthetic bool            `json:"synthetic,omitempty"` // a user's message that the host wrote
	Aside     bool            `json:"aside,omitempty"`     // of RoleOther: of a kind that is known to tell of no agent
	Error     string          `json:"error,omitempty"`     // why there is no answer
	Summary   bool            `json:"summary,omitempty"`   // what a compaction came to
	Notes     []AgentNote     `json:"notes,omitempty"`     // what the line tells of sessions and agents
	Raw       json.RawMessage `json:"raw,omitempty"`       // the line itself, of RoleOther; a JSON string of it where it is no JSON
}

// Unknown reports whether no reader knows what the entry means.
func (m Message) Unknown() bool { return m.Role == RoleOther && len(m.Notes) == 0 && !m.Aside }

// Speaker is the id of the agent or session whose entry it is; empty where the
// log does not tell, or tells a SpawnCall alone.
func (m Message) Speaker() string {
	if m.Agent != "" || m.SpawnCall != "" {
		return m.Agent
	}
	return m.Session
}

// PartType says what a part of a message is.
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
	Text   string          `json:"text,omitempty"`   // of a text, of reasoning, or what a tool answered
	CallID string          `json:"callID,omitempty"` // of a tool's call, and again of its result
	Tool   string          `json:"tool,omitempty"`   // as the host calls it
	Input  json.RawMessage `json:"input,omitempty"`  // of a tool's call
	Failed bool            `json:"failed,omitempty"` // the tool's answer is an error
}

// AgentState says where the run of an agent stands.
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

// Ended reports whether an agent in this state has stopped for good.
func (s AgentState) Ended() bool {
	switch s {
	case "", AgentInitializing, AgentActive, AgentSuspended:
		return false
	}
	return true
}

// Outcome returns the word for how an agent ended (seed 004).
func (s AgentState) Outcome() string {
	switch s {
	case AgentCompleted:
		return "success"
	case AgentTimeout:
		return "timeout"
	}
	return "failure"
}

// An AgentNote is what an entry of a log tells of a session or an agent. ID and
// Call are two names for it, of which one may be missing. A zero field tells
// nothing: all the notes of an agent together say what is known of it.
type AgentNote struct {
	ID          string     `json:"id,omitempty"`     // of the agent (Claude Code) or the session (both hosts)
	Call        string     `json:"call,omitempty"`   // id of the tool call that started it, or had it go on
	Spawn       bool       `json:"spawn,omitempty"`  // it is an agent beyond doubt; other notes may be of tasks that are none
	Parent      string     `json:"parent,omitempty"` // id of the agent or session that started it
	Type        string     `json:"agentType,omitempty"`
	Prompt      string     `json:"prompt,omitempty"`
	Description string     `json:"description,omitempty"`
	Model       string     `json:"model,omitempty"`
	Tools       []string   `json:"tools,omitempty"`       // that it was offered, more than in notes before
	Denied      []string   `json:"denied,omitempty"`      // tools that it may not use
	State       AgentState `json:"state,omitempty"`       //
	Error       string     `json:"error,omitempty"`       // why it ended in AgentError
	Result      string     `json:"result,omitempty"`      // its last words
	Started     Millis     `json:"started,omitempty"`     //
	Ended       Millis     `json:"ended,omitempty"`       //
	Turn        Usage      `json:"turn,omitzero"`         // of a whole turn, more exact than what its messages tell; turns add up
	Thinking    int64      `json:"thinking,omitempty"`    // tokens of thought in the turn, part of what the model wrote; turns add up
	Refused     []string   `json:"refused,omitempty"`     // tools that it called and was not let use
	TreeCostUSD float64    `json:"treeCostUSD,omitempty"` // of it and all below it so far, in US dollars
	Tokens      int64      `json:"tokens,omitempty"`      // its context and last answer, where the host tells no more of it
	ToolCalls   int64      `json:"toolCalls,omitempty"`   // so far
}
