package transcripts

import (
	"cmp"
	"strconv"
	"strings"

	"flame/core"
)

// A claudeStream is the state between lines of the output of `claude -p --output-format
// stream-json --verbose`. The tokens of an answer are those at its start, so they lack most of
// its own words; the note about the end of the turn has the full number. For agents below the
// first level, the stream has only the beginning and the end.
type claudeStream struct {
	compacted bool   // the next synthetic line is the summary
	model     string // of the session's own answers
	session   string // of the last line with a session
}

// A claudeStreamLine has the fields of a line of the client's output that flame reads.
type claudeStreamLine struct {
	Type          string       `json:"type"`
	Subtype       string       `json:"subtype"`
	SessionID     string       `json:"session_id"`
	AgentID       string       `json:"agent_id"`
	ParentCall    string       `json:"parent_tool_use_id"`
	AgentType     string       `json:"subagent_type"`
	Described     string       `json:"task_description"`
	Timestamp     LenientTime  `json:"timestamp"`
	IsSynthetic   bool         `json:"isSynthetic"`
	Message       claudeBody   `json:"message"`
	ToolUseResult claudeAnswer `json:"tool_use_result"`
}

// A claudeTask has the fields about a session or a task in the lines of type system.
type claudeTask struct {
	Model string   `json:"model"` // of init
	Tools []string `json:"tools"`

	TaskID      string `json:"task_id"` // the agent's id
	TaskType    string `json:"task_type"`
	ToolUseID   string `json:"tool_use_id"`
	ParentTask  string `json:"parent_task_id"`
	Depth       int    `json:"spawn_depth"`
	Type        string `json:"subagent_type"`
	Prompt      string `json:"prompt"`
	Description string `json:"description"`
	Status      string `json:"status"`
	Summary     string `json:"summary"`
	Usage       struct {
		Tokens    int64 `json:"total_tokens"`
		ToolCalls int64 `json:"tool_uses"`
	} `json:"usage"`
	Patch struct {
		Status string      `json:"status"`
		Ended  core.Millis `json:"end_time"`
		Error  string      `json:"error"`
	} `json:"patch"`
}

// A claudeResult is the end of a turn.
type claudeResult struct {
	IsError bool                `json:"is_error"`
	Result  string              `json:"result"`
	Errors  []string            `json:"errors"`
	CostUSD float64             `json:"total_cost_usd"` // of the session so far, with its agents
	Usage   claudeUsage         `json:"usage"`          // of the turn, without agents
	Models  map[string]struct{} `json:"modelUsage"`     // that took part in it
	Refused []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
}

// streamAsides are the types of the lines in Claude Code's output that are neither messages nor
// about agents. systemAsides are the subtypes of such lines of type system.
var (
	streamAsides = map[string]bool{
		"auth_status": true, "prompt_suggestion": true, "rate_limit_event": true, "stream_event": true, "tool_progress": true, "tool_use_summary": true,
	}
	systemAsides = map[string]bool{
		"api_retry": true, "background_tasks_changed": true, "compact_boundary": true, "hook_progress": true, "hook_response": true,
		"hook_started": true, "post_turn_summary": true, "session_state_changed": true, "status": true,
	}
)

func (s *claudeStream) line(text []byte) core.Message {
	var l claudeStreamLine
	if !DecodeLenient(text, &l) || l.Type == "" {
		return MarkIrrelevant(OtherMessage(text), true) // output of a hook or the shell
	}
	s.session = cmp.Or(l.SessionID, s.session)
	l.SessionID = s.session
	switch {
	case l.Type == "system":
		s.compacted = s.compacted || l.Subtype == "compact_boundary"
		return MarkIrrelevant(AgentMessage(text, l.SessionID, claudeSystem(text, l)...), systemAsides[l.Subtype])
	case l.Type == "result":
		return AgentMessage(text, l.SessionID, s.result(text, l)...)
	case l.Type != "user" && l.Type != "assistant" || !l.Message.Content.known:
		return MarkIrrelevant(OtherMessage(text), streamAsides[l.Type])
	}
	m := l.Message.message(l.Type)
	m.Session, m.Agent, m.SpawnCall, m.Time = l.SessionID, l.AgentID, l.ParentCall, core.Millis(l.Timestamp)
	m.Synthetic = l.IsSynthetic || byClient(m)
	if s.compacted && l.IsSynthetic {
		m.Summary, s.compacted = true, false
	}
	if m.Role == core.RoleAssistant && m.SpawnCall == "" && m.Agent == "" {
		s.model = m.Model
	}
	m.Notes = claudeNotes(m, m.Speaker(), l.ToolUseResult.spawned)
	l.ToolUseResult.tell(&m)
	if m.Agent != "" || m.SpawnCall != "" {
		askChanges(&m)
	}
	if l.AgentType != "" {
		m.Notes = append(m.Notes, core.AgentInfo{ID: l.AgentID, Call: l.ParentCall, Spawn: true, Type: l.AgentType, Description: l.Described})
	}
	return m
}

// claudeSystem returns the notes about agents of a line of type system.
func claudeSystem(text []byte, l claudeStreamLine) []core.AgentInfo {
	if l.Subtype != "init" && !strings.HasPrefix(l.Subtype, "task_") {
		return nil
	}
	var t claudeTask
	if !DecodeLenient(text, &t) {
		return nil
	}
	n := core.AgentInfo{ID: t.TaskID, Call: t.ToolUseID, Tokens: t.Usage.Tokens, ToolCalls: t.Usage.ToolCalls, State: core.AgentActive}
	switch l.Subtype {
	case "init":
		return []core.AgentInfo{{ID: l.SessionID, Model: t.Model, Tools: t.Tools, State: core.AgentActive}}
	case "task_started":
		n.Spawn = strings.HasSuffix(t.TaskType, "agent") || t.TaskType == "" && t.Type != ""
		n.Parent, n.Type, n.Prompt, n.Description = t.ParentTask, t.Type, t.Prompt, t.Description
		if n.Parent == "" && t.Depth == 1 {
			n.Parent = l.SessionID
		}
	case "task_progress":
		n.Spawn, n.Type = t.Type != "", t.Type
	case "task_updated":
		n.State, n.Ended, n.Error = claudeStates[t.Patch.Status], t.Patch.Ended, t.Patch.Error
	case "task_notification":
		n.State = claudeStates[t.Status]
		if n.State == core.AgentError {
			n.Error = t.Summary
		} else if n.State == core.AgentCompleted {
			n.Result = t.Summary
		}
	}
	return []core.AgentInfo{n}
}

// result returns the notes about the session of the line that ends a turn.
func (s *claudeStream) result(text []byte, l claudeStreamLine) []core.AgentInfo {
	var r claudeResult
	if !DecodeLenient(text, &r) || l.SessionID == "" {
		return nil
	}
	model := s.model
	for name := range r.Models {
		if len(r.Models) == 1 {
			model = name
		}
	}
	n := core.AgentInfo{
		ID: l.SessionID, State: core.AgentCompleted, Result: r.Result, Turn: r.Usage.usage(model), TreeCostUSD: r.CostUSD,
		Thinking: r.Usage.Details.Thinking,
	}
	for _, call := range r.Refused {
		n.Refused = append(n.Refused, call.Tool)
	}
	if r.IsError || strings.HasPrefix(l.Subtype, "error") || isAPIError(r.Result) {
		n.State, n.Result = core.AgentError, ""
		n.Error = strings.Join(append(r.Errors, r.Result, l.Subtype), "\n")
		n.Error, _, _ = strings.Cut(strings.TrimSpace(n.Error), "\n")
	}
	return []core.AgentInfo{n}
}

// isAPIError reports whether Claude Code wrote an answer because the model gave none.
func isAPIError(answer string) bool {
	rest, found := strings.CutPrefix(answer, "API Error: ")
	_, err := strconv.Atoi(rest[:min(3, len(rest))])
	return found && (err == nil || strings.HasPrefix(rest, "Connection error"))
}
