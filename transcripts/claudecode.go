package transcripts

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"flame/core"
)

// A claudeLine has the fields of a line of a session's file that flame reads.
type claudeLine struct {
	Type             string           `json:"type"`
	SessionID        string           `json:"sessionId"`
	RequestSession   string           `json:"requestSessionId"` // in a fork: the session to which the answer was given
	AgentID          string           `json:"agentId"`
	ID               string           `json:"uuid"`
	Parent           string           `json:"parentUuid"`
	Sidechain        bool             `json:"isSidechain"`
	Timestamp        LenientTime      `json:"timestamp"`
	IsCompactSummary bool             `json:"isCompactSummary"`
	IsAPIError       bool             `json:"isApiErrorMessage"`
	IsMeta           bool             `json:"isMeta"`
	Message          claudeBody       `json:"message"`
	ToolUseResult    claudeAnswer     `json:"toolUseResult"`
	Attachment       claudeAttachment `json:"attachment"`
}

// A claudeBody is a message in the form of the model's API.
type claudeBody struct {
	ID         string        `json:"id"`
	Role       core.Role     `json:"role"`
	Model      string        `json:"model"`
	Content    claudeContent `json:"content"`
	StopReason string        `json:"stop_reason"`
	Usage      claudeUsage   `json:"usage"`
}

// A claudeUsage is the usage of an answer on one of its lines. Up to 2.1.81 the client told on each line
// what it knew at that time.
type claudeUsage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	CacheRead    int64 `json:"cache_read_input_tokens"`
	CacheWritten int64 `json:"cache_creation_input_tokens"`
	Cached       struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"` // of what was written, kept for an hour
	} `json:"cache_creation"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	Speed string `json:"speed"`         // "standard" or "fast"
	Geo   string `json:"inference_geo"` // place in which the model had to run; empty: any
}

// usage returns u with its price as an answer of the model.
func (u claudeUsage) usage(model string) core.Usage {
	used := core.Usage{TokensIn: u.Input, TokensOut: u.Output, CacheRead: u.CacheRead, CacheWritten: u.CacheWritten}
	used.CostUSD, used.Unpriced = u.cost(model)
	return used
}

// with returns the larger value of each field: what is known of an answer of which u and v tell.
func (u claudeUsage) with(v claudeUsage) claudeUsage {
	u.Input, u.Output = max(u.Input, v.Input), max(u.Output, v.Output)
	u.CacheRead, u.CacheWritten = max(u.CacheRead, v.CacheRead), max(u.CacheWritten, v.CacheWritten)
	u.Cached.Hour, u.Server.Searches = max(u.Cached.Hour, v.Cached.Hour), max(u.Server.Searches, v.Server.Searches)
	u.Speed, u.Geo = cmp.Or(v.Speed, u.Speed), cmp.Or(v.Geo, u.Geo)
	return u
}

// LenientTime is a time that stays unset if flame cannot read it.
type LenientTime core.Millis

// UnmarshalJSON never fails.
func (t *LenientTime) UnmarshalJSON(text []byte) error {
	var at time.Time
	if json.Unmarshal(text, &at) == nil && !at.IsZero() {
		*t = LenientTime(core.MillisOf(at))
	}
	return nil
}

// sessionAsides are the types of the lines in session files that are not messages: they record
// requests to the model, and Claude Code's own state. Attachments and lines of type system
// have many kinds.
var sessionAsides = map[string]bool{
	"agent-color": true, "agent-name": true, "agent-setting": true, "ai-title": true, "api-request": true, "api-request-blob": true,
	"api-request-shape": true, "atis-latch": true, "attachment": true, "content-replacement": true, "cost-state": true, "custom-title": true,
	"file-history-delta": true, "file-history-snapshot": true, "last-prompt": true, "mode": true, "permission-mode": true, "pr-link": true,
	"queue-operation": true, "summary": true, "system": true, "tag": true, "tools-used": true, "worktree-state": true,
}

// A claudeSession is the state between the lines of a session's file, or of a subagent's
// (projects/<slug>/<session>.jsonl, <session>/subagents/agent-<id>.jsonl).
type claudeSession struct {
	answers recent[claudeUsage]
	inside  claudeInside
}

func (s *claudeSession) line(text []byte) core.Message {
	var l claudeLine
	if !DecodeLenient(text, &l) {
		return OtherMessage(text)
	}
	agent := cmp.Or(l.AgentID, s.inside.agent(l))
	speaker := cmp.Or(agent, l.SessionID)
	if words := l.Attachment.words; words != "" && l.Type == "attachment" {
		l.Type, l.Message.Content = "user", claudeContent{parts: []core.Part{{Type: core.PartText, Text: string(words)}}, known: true}
	}
	if l.Type != "user" && l.Type != "assistant" || !l.Message.Content.known {
		return MarkIrrelevant(AgentMessage(text, l.SessionID, l.Attachment.notes(speaker)...), sessionAsides[l.Type])
	}
	s.grow(&l.Message)
	m := l.Message.message(l.Type)
	m.Session, m.Agent, m.Time, m.Summary = l.SessionID, agent, core.Millis(l.Timestamp), l.IsCompactSummary
	m.Synthetic = l.IsMeta || byClient(m)
	if l.IsAPIError {
		m.Error, m.Final = firstText(m.Parts), false
	}
	m.Notes = append(claudeNotes(m, speaker, l.ToolUseResult.spawned), s.inside.notes(m, l)...)
	l.ToolUseResult.tell(&m)
	if l.AgentID != "" {
		askChanges(&m)
	}
	if l.RequestSession != "" && l.RequestSession != l.SessionID {
		return m.Copy()
	}
	return m
}

// grow adds to a line's usage what earlier lines told of its answer: the price depends on all of it.
func (s *claudeSession) grow(b *claudeBody) {
	if used := b.Usage.usage(""); b.ID == "" || used != used.Possible() || b.Usage == (claudeUsage{}) {
		return
	}
	b.Usage = s.answers.values[b.ID].with(b.Usage)
	s.answers.set(b.ID, b.Usage)
}

// message returns the body as the message of a line of this type.
func (b claudeBody) message(role string) core.Message {
	m := core.Message{
		ID: b.ID, Role: core.Role(role), Model: b.Model, Parts: b.Content.parts, Usage: b.Usage.usage(b.Model),
		Final: role == "assistant" && b.StopReason != "" && b.StopReason != "tool_use" && b.StopReason != "pause_turn",
	}
	for _, part := range b.Content.parts {
		if part.Type == core.PartToolCall {
			m.Usage.ToolCalls++
		}
	}
	return m
}

// byClient reports whether the client wrote a user's message: about the outcome of a task or
// of one of its own commands.
func byClient(m core.Message) bool {
	text := firstText(m.Parts)
	return m.Role == core.RoleUser && (strings.HasPrefix(text, taskNotification) || strings.HasPrefix(text, "<local-command-"))
}

// firstText returns the first text of a message.
func firstText(parts []core.Part) string {
	for _, p := range parts {
		if p.Type == core.PartText {
			return p.Text
		}
	}
	return ""
}

// A claudeContent is a message's content: a text, or a list of blocks. It ignores other content.
// It is decoded in place, because lines may be long, and copies cost as much again.
type claudeContent struct {
	parts []core.Part
	known bool
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
	Content   LenientText     `json:"content"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON never fails.
func (c *claudeContent) UnmarshalJSON(content []byte) error {
	var blocks []claudeBlock
	switch content[0] {
	case '"':
		var text string
		c.known = json.Unmarshal(content, &text) == nil
		c.parts = []core.Part{{Type: core.PartText, Text: text}}
	case '[':
		c.known = DecodeLenient(content, &blocks)
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			c.parts = append(c.parts, core.Part{Type: core.PartText, Text: b.Text})
		case "thinking":
			c.parts = append(c.parts, core.Part{Type: core.PartReasoning, Text: b.Thinking})
		case "tool_use":
			c.parts = append(c.parts, core.Part{Type: core.PartToolCall, CallID: b.ID, Tool: b.Name, Input: b.Input})
		case "tool_result":
			c.parts = append(c.parts, core.Part{Type: core.PartToolResult, CallID: b.ToolUseID, Text: string(b.Content), Failed: b.IsError})
		}
	}
	return nil
}

// LenientText is the text of a tool's answer: a text, or a list of blocks. Pictures have no
// text.
type LenientText string

// UnmarshalJSON never fails.
func (t *LenientText) UnmarshalJSON(content []byte) error {
	if content[0] == '"' {
		return json.Unmarshal(content, (*string)(t))
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if DecodeLenient(content, &blocks) {
		for _, b := range blocks {
			*t += LenientText(b.Text)
		}
	}
	return nil
}
