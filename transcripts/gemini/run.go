package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"

	"flame/core"
	"flame/transcripts"
)

// A run is the state between the lines of the output of `gemini --output-format stream-json`.
type run struct {
	session, model string
	answer         string // what the answer has said so far; its lines are parts of it
	answers        int
}

// A runLine is a line of that output.
type runLine struct {
	Type    string                  `json:"type"`
	Time    transcripts.LenientTime `json:"timestamp"`
	Session string                  `json:"session_id"`
	Model   string                  `json:"model"`
	Role    string                  `json:"role"`
	Content string                  `json:"content"`
	Tool    string                  `json:"tool_name"`
	Call    string                  `json:"tool_id"`
	Input   json.RawMessage         `json:"parameters"`
	Status  string                  `json:"status"`
	Output  string                  `json:"output"`
	Message string                  `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		spent
		Calls  int64            `json:"tool_calls"`
		Models map[string]spent `json:"models"`
	} `json:"stats"` // of the process, subagents and questions of the client's own included
}

// A spent is the usage of a process, or of one model in it. The output has the thoughts only in the
// total.
type spent struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
	Cached int64 `json:"cached"`
}

func (s spent) usage() core.Usage {
	return core.Usage{TokensIn: max(0, s.Input-s.Cached), TokensOut: max(0, s.Output, s.Total-s.Input), CacheRead: max(0, s.Cached)}
}

// cost returns the least that the answers of all models can have cost, and the tokens without a price.
func cost(models map[string]spent) (usd float64, unpriced int64) {
	for model, s := range models {
		one := transcripts.PricedSum(model, s.usage())
		usd, unpriced = usd+one.CostUSD, unpriced+one.Unpriced
	}
	return usd, unpriced
}

// line reads a line of the output.
func (r *run) line(text []byte) core.Message {
	var l runLine
	if !transcripts.DecodeLenient(text, &l) || l.Type == "" {
		return transcripts.MarkIrrelevant(transcripts.OtherMessage(text), true) // words of the client beside the output
	}
	m := core.Message{Session: r.session, Time: core.Millis(l.Time), Model: r.model}
	switch l.Type {
	case "init":
		r.session, r.model = cmp.Or(l.Session, r.session), l.Model
		return transcripts.AgentMessage(text, r.session, core.AgentInfo{ID: r.session, Model: l.Model, State: core.AgentActive})
	case "message":
		m.Role, m.Parts = core.RoleUser, []core.Part{{Type: core.PartText, Text: WithoutContext(l.Content)}}
		if l.Role != "user" {
			m.Role, m.ID, m.Parts[0].Text = core.RoleAssistant, r.id(), l.Content
			r.answer += l.Content
		}
		return m
	case "tool_use":
		m.Role, m.ID, m.Usage.ToolCalls = core.RoleAssistant, r.id(), 1
		m.Parts = []core.Part{{Type: core.PartToolCall, CallID: l.Call, Tool: l.Tool, Input: l.Input}}
		return m
	case "tool_result":
		r.answers, r.answer = r.answers+1, ""
		m.Role, m.Parts = core.RoleUser, []core.Part{{
			Type: core.PartToolResult, CallID: l.Call, Text: cmp.Or(l.Error.Message, l.Output), Failed: l.Status == "error",
		}}
		return m
	case "result":
		return r.ended(text, l)
	}
	return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.session), l.Type == "error")
}

// id returns a name for the answer that the lines are parts of.
func (r *run) id() string { return "answer-" + strconv.Itoa(r.answers) }

// ended reads the last line.
func (r *run) ended(text []byte, l runLine) core.Message {
	s := l.Stats
	n := core.AgentInfo{ID: r.session, State: core.AgentCompleted, Result: r.answer}
	n.Turn = s.usage()
	n.Turn.ToolCalls = max(0, s.Calls)
	n.Turn.CostUSD, n.Turn.Unpriced = cost(s.Models)
	if l.Status != "success" {
		n.State, n.Error, n.Result = core.AgentError, cmp.Or(l.Error.Message, l.Message, l.Status), ""
	}
	if n.ID == "" {
		return transcripts.MarkIrrelevant(transcripts.OtherMessage(text), true)
	}
	return transcripts.AgentMessage(text, r.session, n)
}
