package codex

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/transcripts"
)

// A run is the state between the lines of the output of `codex exec --json`.
type run struct{ thread string }

// A runLine is a line of that output.
type runLine struct {
	Type    string `json:"type"`
	Thread  string `json:"thread_id"`
	Item    done   `json:"item"`
	Usage   tokens `json:"usage"` // of the thread so far, without subagents
	Message string `json:"message"`
	Error   reason `json:"error"`
}

// A reason says why something failed.
type reason struct {
	Message string `json:"message"`
}

// A done is an item of the output.
type done struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	Exit      *int            `json:"exit_code"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    struct {
		Content transcripts.LenientText `json:"content"`
	} `json:"result"`
	Error   reason `json:"error"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Query   string `json:"query"`
	Changes []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Sender string           `json:"sender_thread_id"`
	Agents []string         `json:"receiver_thread_ids"`
	Prompt string           `json:"prompt"`
	States map[string]state `json:"agents_states"` // by thread
}

// A state is the state of a subagent.
type state struct {
	Status  string `json:"status"`
	Message string `json:"message"` // its last words
}

// states are the states of subagents, by Codex's names.
var states = map[string]core.AgentState{
	"pending_init": core.AgentActive, "running": core.AgentActive, "interrupted": core.AgentCancelled, "completed": core.AgentCompleted,
	"errored": core.AgentError, "shutdown": core.AgentCancelled,
}

func (r *run) line(text []byte) core.Message {
	var l runLine
	if !transcripts.DecodeLenient(text, &l) || l.Type == "" {
		return transcripts.MarkIrrelevant(transcripts.OtherMessage(text), true) // output of a hook or the shell
	}
	n := core.AgentInfo{ID: r.thread}
	switch l.Type {
	case "thread.started":
		r.thread = cmp.Or(l.Thread, r.thread)
		n.ID, n.State = r.thread, core.AgentActive
	case "turn.completed":
		n.State, n.Total = core.AgentCompleted, l.Usage.usage()
	case "turn.failed":
		n.State, n.Error = core.AgentError, cmp.Or(l.Error.Message, l.Message)
	case "item.started", "item.completed":
		return r.item(text, l.Item, l.Type == "item.completed")
	default:
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), l.Type == "turn.started" || l.Type == "item.updated" || l.Type == "error")
	}
	if n.ID == "" {
		return transcripts.OtherMessage(text)
	}
	return transcripts.AgentMessage(text, r.thread, n)
}

// item reads an item that has begun or ended.
func (r *run) item(text []byte, i done, ended bool) core.Message {
	m := core.Message{Session: r.thread, ID: i.ID, Role: core.RoleAssistant}
	switch i.Type {
	case "agent_message":
		m.Parts = []core.Part{{Type: core.PartText, Text: i.Text}}
		return m
	case "reasoning":
		m.Parts = []core.Part{{Type: core.PartReasoning, Text: i.Text}}
		return m
	case "command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call":
		m.Notes = i.notes(r.thread, ended)
		if ended {
			m.ID, m.Role, m.Parts = "", core.RoleUser, []core.Part{i.result()}
			return m
		}
		m.Parts, m.Usage.ToolCalls = []core.Part{i.call()}, 1
		return m
	}
	return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), i.Type == "error" || i.Type == "todo_list")
}

// call returns the call that an item is about.
func (i done) call() core.Part {
	part := core.Part{Type: core.PartToolCall, CallID: i.ID, Tool: i.Tool, Input: i.Arguments}
	input := map[string]any{}
	switch i.Type {
	case "command_execution":
		part.Tool, input["command"] = "Bash", i.Command
	case "mcp_tool_call":
		part.Tool = "mcp__" + i.Server + "__" + i.Tool
		return part
	case "file_change":
		part.Tool, input["changes"] = "apply_patch", i.Changes
	case "web_search":
		part.Tool, input["query"] = i.Type, i.Query
	case "collab_tool_call":
		input["message"] = i.Prompt
	}
	part.Input, _ = json.Marshal(input) // of texts: it can always be encoded
	return part
}

// result returns the result of that call.
func (i done) result() core.Part {
	part := core.Part{Type: core.PartToolResult, CallID: i.ID, Failed: i.Status == "failed" || i.Status == "declined" || i.Error.Message != ""}
	part.Text = cmp.Or(i.Error.Message, i.Output, string(i.Result.Content), i.Text)
	return part
}

// notes returns what an item says about subagents.
func (i done) notes(thread string, ended bool) (notes []core.AgentInfo) {
	if i.Type != "collab_tool_call" || !ended {
		return nil
	}
	if i.Tool == string(op.Spawn) { // Codex's own has that name, too
		for _, id := range i.Agents {
			notes = append(notes, core.AgentInfo{ID: id, Call: i.ID, Spawn: true, Parent: cmp.Or(i.Sender, thread), Prompt: i.Prompt, State: core.AgentActive})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.States)) {
		s := i.States[id]
		n := core.AgentInfo{ID: id, State: states[s.Status]}
		switch n.State {
		case core.AgentCompleted:
			n.Result = s.Message
		case core.AgentError:
			n.Error = s.Message
		}
		notes = append(notes, n)
	}
	return notes
}
