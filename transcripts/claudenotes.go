package transcripts

import (
	"bytes"
	"os"
	"strings"

	"flame/core"
)

// claudeStates are the states of agents by Claude Code's words for the state of a task: in a
// tool's answer, a notification, or a line of its output.
var claudeStates = map[string]core.AgentState{
	"pending":         core.AgentInitializing,
	"running":         core.AgentActive,
	"async_launched":  core.AgentActive,
	"remote_launched": core.AgentActive,
	"paused":          core.AgentSuspended,
	"completed":       core.AgentCompleted,
	"failed":          core.AgentError,
	"killed":          core.AgentCancelled,
	"stopped":         core.AgentCancelled,
}

// taskNotification begins a session's notification about a background task.
const taskNotification = "<task-notification>"

// claudeNotes returns the notes of a message about agents: those that its speaker started, and
// those that have ended.
func claudeNotes(m core.Message, speaker string, answer claudeSpawnResult) []core.AgentInfo {
	var notes []core.AgentInfo
	for _, p := range m.Parts {
		switch {
		case p.Type == core.PartToolCall && (p.Tool == "Agent" || p.Tool == "Task"):
			notes = append(notes, claudeSpawn(p, m.Time, speaker))
		case p.Type == core.PartToolResult && answer.AgentID != "":
			notes = append(notes, answer.note(p, m.Time))
		case p.Type == core.PartText && m.Role == core.RoleUser && strings.HasPrefix(p.Text, taskNotification):
			notes = append(notes, claudeNotification(p.Text, m.Time))
		}
	}
	return notes
}

// A taskInput is the input of the tools of both hosts that start an agent.
type taskInput struct {
	Type        string `json:"subagent_type"`
	Prompt      string `json:"prompt"`
	Description string `json:"description"`
}

// claudeSpawn returns the note of a call of the tool Agent. Older clients name it Task.
func claudeSpawn(call core.Part, at core.Millis, speaker string) core.AgentInfo {
	var in taskInput
	DecodeLenient(call.Input, &in)
	return core.AgentInfo{
		Call: call.CallID, Spawn: true, Parent: speaker, Type: in.Type, Prompt: in.Prompt, Description: in.Description,
		State: core.AgentInitializing, Started: at,
	}
}

// claudeSpawnResult is the data that the client stores beside the answer of the tool Agent. Answers
// of other tools have no AgentID.
type claudeSpawnResult struct {
	AgentID   string `json:"agentId"`
	AgentType string `json:"agentType"`
	Status    string `json:"status"`
	Prompt    string `json:"prompt"`
	Model     string `json:"resolvedModel"`
	Tokens    int64  `json:"totalTokens"`
	ToolCalls int64  `json:"totalToolUseCount"`

	Interrupted bool `json:"wasInterrupted"` // of clients that name no agent
	Content     []struct {
		Text string `json:"text"`
	} `json:"content"` // its outcome: the client's words, and in the last part the agent's
}

// UnmarshalJSON never fails. Answers of other tools may be long and have any form.
func (s *claudeSpawnResult) UnmarshalJSON(text []byte) error {
	type plain claudeSpawnResult
	if text[0] != '{' || !bytes.Contains(text, []byte(`"agentId"`)) && !bytes.Contains(text, []byte(`"totalToolUseCount"`)) {
		return nil
	}
	DecodeLenient(text, (*plain)(s))
	return nil
}

func (s claudeSpawnResult) note(result core.Part, at core.Millis) core.AgentInfo {
	n := core.AgentInfo{
		ID: s.AgentID, Call: result.CallID, Spawn: true, Type: s.AgentType, Prompt: s.Prompt, Model: s.Model,
		State: claudeStates[s.Status], Tokens: s.Tokens, ToolCalls: s.ToolCalls,
	}
	if n.State.Ended() {
		n.Ended, n.Result = at, result.Text
		if last := len(s.Content) - 1; last >= 0 {
			n.Result = s.Content[last].Text
		}
	}
	return n
}

// claudeNotification returns the note about the end of a background task. The task's own words
// follow the client's.
func claudeNotification(text string, at core.Millis) core.AgentInfo {
	n := core.AgentInfo{
		ID: between(text, "<task-id>", "</task-id>"), Call: between(text, "<tool-use-id>", "</tool-use-id>"),
		State: claudeStates[between(text, "<status>", "</status>")],
	}
	if n.State.Ended() {
		n.Ended, n.Result = at, between(text, "<result>", "</result>\n<usage>")
	}
	return n
}

// between returns the text between the first open and the next shut; empty without both.
func between(text, open, shut string) string {
	_, text, _ = strings.Cut(text, open)
	text, _, found := strings.Cut(text, shut)
	if !found {
		return ""
	}
	return text
}

// A claudeAttachment is an entry that the client adds to a session's history. Two kinds list
// tools that the client offers to the model: all at once, or after a search of the model's. One
// has words that the user typed while the model worked.
type claudeAttachment struct {
	tools []string
	words LenientText
}

// UnmarshalJSON never fails, because attachments have many kinds.
func (a *claudeAttachment) UnmarshalJSON(text []byte) error {
	var kind struct {
		Type string `json:"type"`
	}
	DecodeLenient(text, &kind)
	switch kind.Type {
	case "prompt_snapshot":
		var snapshot struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		DecodeLenient(text, &snapshot)
		for _, tool := range snapshot.Tools {
			a.tools = append(a.tools, tool.Name)
		}
	case "deferred_tools_delta":
		var delta struct {
			Added []string `json:"addedNames"`
		}
		DecodeLenient(text, &delta)
		a.tools = delta.Added
	case "queued_command":
		var queued struct {
			Prompt LenientText `json:"prompt"`
			Mode   string      `json:"commandMode"`
		}
		if DecodeLenient(text, &queued) && queued.Mode == "prompt" {
			a.words = queued.Prompt
		}
	}
	return nil
}

func (a claudeAttachment) notes(speaker string) []core.AgentInfo {
	if len(a.tools) == 0 || speaker == "" {
		return nil
	}
	return []core.AgentInfo{{ID: speaker, Tools: a.tools}}
}

// claudeMeta is the file beside a subagent's log that describes the agent
// (agent-<id>.meta.json).
type claudeMeta struct {
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	ParentAgent string `json:"parentAgentId"`
	Depth       int    `json:"spawnDepth"`
	Model       string `json:"model"`
	Finished    bool   `json:"finished"`
	Stopped     bool   `json:"stoppedByUser"`
}

// metaEntry reads the file beside the log of a session's subagent. It does not exist for the
// first moments of a subagent. metaEntry keeps a file that it cannot parse as it is.
func metaEntry(path, session, agent string) (core.Message, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return core.Message{}, err
	}
	var meta claudeMeta
	if !DecodeLenient(text, &meta) {
		return OtherMessage(text), nil
	}
	n := core.AgentInfo{
		ID: agent, Call: meta.ToolUseID, Spawn: true, Parent: meta.ParentAgent, Type: meta.AgentType,
		Description: meta.Description, Model: meta.Model,
	}
	switch {
	case meta.Stopped:
		n.State = core.AgentCancelled
	case meta.Finished:
		n.State = core.AgentCompleted
	}
	if n.Parent == "" && meta.Depth == 1 {
		n.Parent = session
	}
	return AgentMessage(text, session, n), nil
}
