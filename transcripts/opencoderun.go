package transcripts

import (
	"strings"

	"flame/core"
)

// openCodeRunLine reads one line of the output of `opencode run --format json`:
// a part of an answer in the root session, a message here. What its subagents
// say is not included. Tokens come at the end of the step; each step is an
// answer of its own.
func openCodeRunLine(text []byte) core.Message {
	var l struct {
		Type      string        `json:"type"`
		Timestamp core.Millis   `json:"timestamp"`
		SessionID string        `json:"sessionID"`
		Part      openCodePart  `json:"part"`
		Error     openCodeError `json:"error"`
	}
	if !loose(text, &l) || l.Type == "" {
		return aside(other(text), true) // words of others in the same terminal
	}
	if l.SessionID == "" {
		return other(text)
	}
	m := core.Message{ID: l.Part.MessageID, Role: core.RoleAssistant, Session: l.SessionID, Time: l.Timestamp}
	switch l.Type {
	case "text", "reasoning", "tool_use":
		if l.Part.Tool != "" {
			l.Part.Type = "tool" // some leave it out
		}
		if l.Part.Synthetic { // the client asks the model to continue
			m.Role = core.RoleUser
		}
		l.Part.addTo(&m)
		if refused(l.Part.State.Error) {
			m.Notes = []core.AgentNote{{ID: l.SessionID, Refused: []string{l.Part.Tool}}}
		}
	case "step_finish":
		m.Final = finalReason(l.Part.Reason)
		m.Usage = l.Part.Tokens.usage(l.Part.Cost)
		if thought := l.Part.Tokens.Reasoning; thought > 0 {
			m.Notes = []core.AgentNote{{ID: l.SessionID, Thinking: thought}}
		}
	case "error":
		m.Error = l.Error.text()
		m.Notes = []core.AgentNote{{ID: l.SessionID, State: l.Error.state(), Error: m.Error}}
	case "step_start":
		return noted(text, l.SessionID, core.AgentNote{ID: l.SessionID, State: core.AgentActive})
	default:
		return other(text)
	}
	return m
}

// refused reports whether a tool's error says that the agent was not allowed to
// use it, by a rule or by a person.
func refused(err string) bool {
	return strings.HasPrefix(err, "The user rejected permission to use") || strings.HasPrefix(err, "The user has specified a rule which prevents")
}
