package claudecode

import (
	"strings"

	"flame/hosts/hooks"
	"flame/transcripts"
)

// An event is what Claude Code sends a hook, as far as flame reads it. AgentType is empty in a
// SubagentStop from a compaction.
type event struct {
	hooks.Event
	PromptID    string    `json:"prompt_id"`
	Server      mcpServer `json:"mcp_server"`
	Error       string    `json:"error"`
	Interrupted bool      `json:"is_interrupt"`
	Background  []struct {
		ID string `json:"id"`
	} `json:"background_tasks"` // still running
	Summary string `json:"compact_summary"`

	// What the log shows of the turn that ends, and at a prompt of the one before.
	seenAtEnd, seenBefore func() transcripts.TurnSummary
}

// An mcpServer is the server that a tool belongs to.
type mcpServer struct {
	Name   string `json:"name"`
	Source string `json:"source"` // of its registration
}

// projectSource is the source of a server that came with the project.
const projectSource = "project"

// servers lists flame's servers by Claude Code's names for them, with the
// prefix of their tools' names: the one registered by hand, and the plugin's.
var servers = []struct{ name, prefix string }{
	{"flame", "mcp__flame__"},
	{pluginServer, "mcp__plugin_flame_flame__"},
}

// pluginServer is Claude Code's name for the server of our plugin.
const pluginServer = "plugin:flame:flame"

// toolOfFlame returns the tool's name in a server of flame's, or "" for another
// server's tool, such as one of a server that a project registers as flame. A version that does not name the server has it only in the
// tool's name, where other servers' names may look the same.
func (e event) toolOfFlame() string {
	if e.Server.Source == projectSource {
		return ""
	}
	for _, server := range servers {
		name, ok := strings.CutPrefix(e.Tool, server.prefix)
		if ok && (e.Server.Name == "" || e.Server.Name == server.name) {
			return name
		}
	}
	return ""
}

// decodeEvent reads what it can of an event.
func decodeEvent(raw []byte) (e event, err error) {
	err = hooks.Decode(raw, &e, &e.Event)
	return e, err
}

// isNotification reports whether the prompt is the host's report on a child
// that ran in the background, not a person's.
func (e event) isNotification() bool {
	return strings.HasPrefix(strings.TrimSpace(e.Prompt), "<task-notification>")
}

// running lists the background tasks, or nil if the client does not report
// them; the ids of agents among them are the ids of their sessions.
func (e event) running() []string {
	if e.Background == nil {
		return nil
	}
	ids := []string{}
	for _, task := range e.Background {
		ids = append(ids, task.ID)
	}
	return ids
}

// An agentCall is the input of the tool that starts a subagent.
type agentCall struct {
	Description string `json:"description"`
	AgentType   string `json:"subagent_type"`
	Prompt      string `json:"prompt"`
}

// An agentResult is that tool's answer: immediate for a child in the
// background, at its end for others.
type agentResult struct {
	Status  string `json:"status"`
	Agent   string `json:"agentId"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// text returns what the parent reads of the child; note is the host's own part
// of it.
func (r agentResult) text() (last, all string) {
	var words []string
	for _, part := range r.Content {
		all += part.Text + "\n"
		if !strings.HasPrefix(part.Text, "<tools-used-before-summary>") {
			words = append(words, part.Text)
		}
	}
	return strings.Join(words, "\n"), all
}

// A fileCall is the input of a tool that writes one file.
type fileCall struct {
	File     string `json:"file_path"`
	Notebook string `json:"notebook_path"`
}

// A stopCall is the input of the tool that stops a background task.
type stopCall struct {
	Task  string `json:"task_id"`
	Shell string `json:"shell_id"` // the field's name in older versions
}

// A taskCall is a call that creates an item of the list, or changes one.
type taskCall struct {
	ID      string `json:"taskId"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

// A planResult is the answer to an approved plan.
type planResult struct {
	Plan string `json:"plan"`
	File string `json:"filePath"`
}

// A taskResult is its answer.
type taskResult struct {
	Success bool `json:"success"` // of a change
	Task    struct {
		ID string `json:"id"`
	} `json:"task"` // that was created
	Change struct {
		From string `json:"from"`
	} `json:"statusChange"`
}
