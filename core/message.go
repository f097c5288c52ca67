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
	ID      string          `json:"id,omitempty"`      // the host's; the lines of one answer share it
	Role    Role            `json:"role"`              //
	Session string          `json:"session,omitempty"` // of the host; a subagent's lines name the session it runs in
	Agent   string          `json:"agent,omitempty"`   // of the subagent whose line it is; empty for the session itself
	Time    Millis          `json:"time,omitempty"`
	Model   string          `json:"model,omitempty"`
	Parts   []Part          `json:"parts,omitempty"`
	Usage   Usage           `json:"usage,omitzero"`    // of the answer; on the first line that has its ID
	Summary bool            `json:"summary,omitempty"` // what a compaction came to
	Raw     json.RawMessage `json:"raw,omitempty"`     // the line itself, of RoleOther
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
