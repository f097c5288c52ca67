package transcripts

import (
	"encoding/json"
	"io"
	"iter"
	"time"

	"flame/core"
)

// ClaudeCode reads a session file of Claude Code, or a subagent's
// (projects/<slug>/<session>.jsonl, <session>/subagents/agent-<id>.jsonl). An
// error ends the stream; ErrTorn is one that more reading may cure.
func ClaudeCode(r io.Reader) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		for entry, err := range claudeCode(r, core.LogPosition{}) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

// claudeCode reads what r has after position from.
func claudeCode(r io.Reader, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		counted := map[string]bool{from.Last: true} // answers whose tokens were told
		at := from
		for _, l := range lines(r) {
			if l.err != nil {
				yield(core.LogEntry{Next: at}, l.err)
				return
			}
			m := claudeMessage(l.text)
			if m.ID != "" && counted[m.ID] {
				m.Usage = core.Usage{ToolCalls: m.Usage.ToolCalls}
			}
			if m.ID != "" {
				counted[m.ID], at.Last = true, m.ID
			}
			at.Offset = from.Offset + l.end
			if !yield(core.LogEntry{Message: m, Next: at}, nil) {
				return
			}
		}
	}
}

// A claudeLine is what we read of a line of a session file.
type claudeLine struct {
	Type             string    `json:"type"`
	SessionID        string    `json:"sessionId"`
	AgentID          string    `json:"agentId"`
	Timestamp        time.Time `json:"timestamp"`
	IsCompactSummary bool      `json:"isCompactSummary"`
	Message          struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`
}

// A claudeUsage is what an answer took; every line of the answer tells all of it.
type claudeUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
	CacheWritten int64 `json:"cache_creation_input_tokens"`
	Cached       struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"` // of what was written, kept for an hour
	} `json:"cache_creation"`
	Server struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	Speed string `json:"speed"`         // "standard" or "fast"
	Geo   string `json:"inference_geo"` // where it had to be computed; empty: anywhere
}

func claudeMessage(text []byte) core.Message {
	var l claudeLine
	if json.Unmarshal(text, &l) != nil || l.Type != "user" && l.Type != "assistant" {
		return other(text)
	}
	parts, ok := claudeParts(l.Message.Content)
	if !ok {
		return other(text)
	}
	m := core.Message{
		ID: l.Message.ID, Role: core.Role(l.Type), Session: l.SessionID, Agent: l.AgentID,
		Model: l.Message.Model, Parts: parts, Summary: l.IsCompactSummary,
	}
	if !l.Timestamp.IsZero() {
		m.Time = core.MillisOf(l.Timestamp)
	}
	u := l.Message.Usage
	m.Usage = core.Usage{
		TokensIn: u.Input, TokensOut: u.Output, CacheRead: u.CacheRead, CacheWritten: u.CacheWritten,
		CostUSD: u.cost(l.Message.Model),
	}
	for _, part := range parts {
		if part.Type == core.PartToolCall {
			m.Usage.ToolCalls++
		}
	}
	return m
}

// A claudeBlock is a block of a message's content.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// claudeParts reads a content: a text, or a list of blocks.
func claudeParts(content json.RawMessage) (parts []core.Part, ok bool) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []core.Part{{Type: core.PartText, Text: text}}, true
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) != nil {
		return nil, false
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, core.Part{Type: core.PartText, Text: b.Text})
		case "thinking":
			parts = append(parts, core.Part{Type: core.PartReasoning, Text: b.Thinking})
		case "tool_use":
			parts = append(parts, core.Part{Type: core.PartToolCall, CallID: b.ID, Tool: b.Name, Input: b.Input})
		case "tool_result":
			parts = append(parts, core.Part{Type: core.PartToolResult, CallID: b.ToolUseID, Text: claudeText(b.Content), Failed: b.IsError})
		}
	}
	return parts, true
}

// claudeText gives the text of a tool's answer; pictures have none.
func claudeText(content json.RawMessage) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	for _, b := range blocks {
		text += b.Text
	}
	return text
}
