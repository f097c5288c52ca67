package transcripts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"flame/core"
)

// The formats of Codex.
var (
	// CodexRollout is the JSONL file of a thread: a session, or a subagent, which is a thread of its
	// own. A fork names the file that it goes on from and copies nothing.
	CodexRollout = &Format{
		Name: "Codex's rollout files", Host: "codex", Kept: true,
		Lines: func() parser { return (&codexRollout{files: map[string][]core.FileChange{}}).line },
		Entry: func(e Entry) bool { return e.Text("type") == "session_meta" && e.Has("payload") },
	}
	// CodexRun is the output of the client.
	CodexRun = &Format{
		Name: "Codex's exec --json", Host: "codex",
		Lines: func() parser { return (&codexRun{}).line },
		Entry: func(e Entry) bool { return e.Text("type") == "thread.started" && e.Text("thread_id") != "" },
	}
)

// A codexRollout is the state between the lines of a thread's file. Its items come before the usage
// of their answer; they share the id of the first one.
type codexRollout struct {
	thread string
	model  string
	answer string                       // id of the answer whose usage is still to come
	files  map[string][]core.FileChange // of calls whose output is still to come
}

// maxOpenCalls bounds the calls whose changes of files are remembered.
const maxOpenCalls = 64

// A codexLine is a line of a rollout.
type codexLine struct {
	Time    claudeTime   `json:"timestamp"`
	Type    string       `json:"type"`
	Payload codexPayload `json:"payload"`
}

// A codexPayload has the fields of all kinds of lines that flame reads.
type codexPayload struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	Parent string `json:"parent_thread_id"` // of session_meta, in a subagent's file
	Folder string `json:"cwd"`
	Role   string `json:"agent_role"`

	Speaker   core.Role  `json:"role"` // of a message
	Content   claudeText `json:"content"`
	Summary   claudeText `json:"summary"` // of reasoning
	Name      string     `json:"name"`
	Space     string     `json:"namespace"`
	Arguments string     `json:"arguments"` // JSON
	Input     string     `json:"input"`     // of a tool that takes a text
	Call      string     `json:"call_id"`
	Output    claudeText `json:"output"`

	Model    string     `json:"model"`
	Usage    codexUsage `json:"usage"`
	Response string     `json:"response_id"`
	Message  string     `json:"message"` // of a compaction, and of an error
	Last     string     `json:"last_agent_message"`
	Reason   string     `json:"reason"`
	Item     codexItem  `json:"item"`
	Sandbox  struct {
		Type string `json:"type"`
	} `json:"sandbox_policy"`
}

// A codexItem is a part of a turn, as Codex shows it to people.
type codexItem struct {
	Type    string                 `json:"type"`
	ID      string                 `json:"id"`
	Changes map[string]codexChange `json:"changes"` // by file
	Status  string                 `json:"status"`
}

// A codexChange is the change of one file.
type codexChange struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	Diff    string `json:"unified_diff"`
	MovedTo string `json:"move_path"`
}

// A codexUsage is the usage of an answer. What is read from the cache and written to it is part of
// the input.
type codexUsage struct {
	Input        int64 `json:"input_tokens"`
	CacheRead    int64 `json:"cached_input_tokens"`
	CacheWritten int64 `json:"cache_write_input_tokens"`
	Output       int64 `json:"output_tokens"`
	Reasoning    int64 `json:"reasoning_output_tokens"`
}

func (u codexUsage) usage() core.Usage {
	return core.Usage{
		TokensIn: max(0, u.Input-u.CacheRead-u.CacheWritten), TokensOut: max(0, u.Output),
		CacheRead: max(0, u.CacheRead), CacheWritten: max(0, u.CacheWritten),
	}
}

// rolloutAsides are the types of lines that are neither messages nor about threads.
var rolloutAsides = map[string]bool{"turn_context": true, "world_state": true, "event_msg": true, "response_item": true, "session_meta": true}

// line reads a line of a thread's file.
func (r *codexRollout) line(text []byte) core.Message {
	var l codexLine
	if !loose(text, &l) {
		return other(text)
	}
	p := l.Payload
	m := core.Message{Session: r.thread, Time: core.Millis(l.Time)}
	switch l.Type {
	case "session_meta":
		if r.thread == "" {
			r.thread = p.ID
		}
		return noted(text, r.thread, core.AgentNote{
			ID: r.thread, Parent: p.Parent, Spawn: p.Parent != "", Type: p.Role, Started: core.Millis(l.Time), State: core.AgentActive,
		})
	case "turn_context":
		r.model = cmp.Or(p.Model, r.model)
	case "event_msg":
		return r.event(text, p)
	case "compacted":
		m.Role, m.Summary, m.Parts = core.RoleUser, true, []core.Part{{Type: core.PartText, Text: codexSummary(p.Message)}}
		return m
	case "token_usage_record":
		m.Role, m.ID, m.Model, m.Usage = core.RoleAssistant, cmp.Or(r.answer, p.Response), r.model, p.Usage.usage()
		r.answer = ""
		return m
	case "response_item":
		if m = r.item(m, p); m.Role != "" {
			return m
		}
	}
	return aside(noted(text, r.thread), rolloutAsides[l.Type])
}

// event reads what Codex says about a turn.
func (r *codexRollout) event(text []byte, p codexPayload) core.Message {
	n := core.AgentNote{ID: r.thread}
	switch p.Type {
	case "task_started":
		n.State = core.AgentActive
	case "task_complete":
		n.State, n.Result = core.AgentCompleted, p.Last
	case "turn_aborted":
		n.State, n.Error = core.AgentCancelled, p.Reason
	case "error":
		n.State, n.Error = core.AgentError, p.Message
	case "item_completed":
		if files := p.Item.files(); len(files) > 0 && p.Item.ID != "" && len(r.files) < maxOpenCalls {
			r.files[p.Item.ID] = files
		}
	}
	if r.thread == "" || n.State == "" { // without a thread, the reading began behind the first line
		return aside(noted(text, r.thread), true)
	}
	return noted(text, r.thread, n)
}

// item returns m as the message of an item of the conversation; without a role if it is none.
func (r *codexRollout) item(m core.Message, p codexPayload) core.Message {
	part := core.Part{CallID: p.Call, Tool: p.tool()}
	switch p.Type {
	case "message":
		if p.Speaker != core.RoleUser && p.Speaker != core.RoleAssistant {
			return m
		}
		m.Role, part = p.Speaker, core.Part{Type: core.PartText, Text: string(p.Content)}
		m.Synthetic = m.Role == core.RoleUser && codexOwn(part.Text)
		m.Notes = codexNotified(part.Text, m.Synthetic)
	case "reasoning":
		m.Role, part = core.RoleAssistant, core.Part{Type: core.PartReasoning, Text: string(p.Summary)}
	case "function_call":
		m.Role, part.Type, part.Input = core.RoleAssistant, core.PartToolCall, asJSON(p.Arguments)
	case "custom_tool_call":
		m.Role, part.Type, part.Input = core.RoleAssistant, core.PartToolCall, asJSON(p.Input)
	case "function_call_output", "custom_tool_call_output":
		m.Role, part.Type, part.Tool, part.Text = core.RoleUser, core.PartToolResult, "", string(p.Output)
		part.Failed, part.Files = codexFailed(part.Text), r.files[p.Call]
		delete(r.files, p.Call)
		var made struct {
			Agent string `json:"agent_id"`
		}
		if strings.HasPrefix(part.Text, `{"agent_id":`) && loose([]byte(part.Text), &made) && made.Agent != "" {
			m.Notes = []core.AgentNote{{ID: made.Agent, Call: p.Call, Spawn: true, Parent: r.thread}}
		}
	default:
		return m
	}
	m.Parts = []core.Part{part}
	if m.Role == core.RoleAssistant {
		r.answer = cmp.Or(r.answer, p.ID, p.Call)
		m.ID, m.Model = r.answer, r.model
	}
	if part.Type == core.PartToolCall {
		m.Usage.ToolCalls = 1
	}
	return m
}

// tool returns the name of a call's tool as hooks see it.
func (p codexPayload) tool() string {
	if strings.HasPrefix(p.Space, "mcp__") {
		return p.Space + "__" + p.Name
	}
	return p.Name
}

// asJSON returns a text as JSON: as it is if it is that, else as a string.
func asJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text) // a string can always be encoded
	return raw
}

// codexOwn reports whether Codex wrote a text of the user's: it puts its own into tags.
func codexOwn(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") || strings.HasPrefix(text, "# AGENTS.md instructions")
}

// codexNotified returns what a message of Codex's own says about the end of a subagent.
func codexNotified(text string, own bool) []core.AgentNote {
	text, found := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(text), "</subagent_notification>"), "<subagent_notification>")
	var told struct {
		Agent  string            `json:"agent_path"`
		Status map[string]string `json:"status"`
	}
	if !own || !found || !loose([]byte(text), &told) || told.Agent == "" {
		return nil
	}
	n := core.AgentNote{ID: told.Agent}
	for status, last := range told.Status {
		if n.State = codexStates[status]; n.State == core.AgentCompleted {
			n.Result = last
		}
	}
	return []core.AgentNote{n}
}

// codexExit finds the status of a command that has ended.
var codexExit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^\n]*\n){0,4}?(?:Process exited with code|Exit code:) (-?\d+)\n`)
})

// codexStatus returns the status with which a command ended; empty if the output names none.
func codexStatus(output string) string {
	if found := codexExit().FindStringSubmatch(output[:min(len(output), 1<<10)]); found != nil {
		return found[1]
	}
	return ""
}

// codexFailed reports whether a tool's output says that the call failed.
func codexFailed(output string) bool {
	status := codexStatus(output)
	return status != "" && status != "0" || strings.HasPrefix(output, "unsupported ") ||
		strings.HasPrefix(output, "apply_patch verification failed")
}

// files returns the changes of an item's files.
func (i codexItem) files() (changes []core.FileChange) {
	if i.Type != "FileChange" || i.Status != "completed" {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(i.Changes)) {
		c := i.Changes[path]
		switch c.Type {
		case "add":
			p := whole(c.Content)
			changes = append(changes, p.of(path, core.FileAdded))
		case "delete":
			p := new(patch)
			p.lines("-", linesOf(c.Content))
			changes = append(changes, p.of(path, core.FileDeleted))
		case "update":
			change := toldPatch(c.Diff).of(path, core.FileModified)
			if c.MovedTo != "" {
				change.Path, change.From = c.MovedTo, path
			}
			changes = append(changes, change)
		}
	}
	return credible(changes)
}

// codexSummary returns the summary of a compaction without Codex's words before it.
func codexSummary(message string) string {
	if before, summary, found := strings.Cut(message, ":\n"); found && strings.HasPrefix(before, "Another language model") {
		return summary
	}
	return message
}

// CodexBegun returns the folder in which a thread was started, and the thread that started it, empty
// for a session, by the beginning of its file.
func CodexBegun(head []byte) (folder, parent string) {
	head, _, _ = bytes.Cut(head, []byte("\n"))
	if l := new(codexLine); loose(head, l) && l.Type == "session_meta" {
		return l.Payload.Folder, l.Payload.Parent
	}
	return "", ""
}

// CodexSandbox returns the name of the sandbox of the last turn in the end of a thread's file; empty
// if it does not say.
func CodexSandbox(end []byte) string {
	return codexLast(end, `"type":"turn_context"`).Sandbox.Type
}

// CodexSummary returns the summary of the last compaction in the end of a thread's file; empty if it
// has none.
func CodexSummary(end []byte) string {
	return codexSummary(codexLast(end, `"type":"compacted"`).Message)
}

// codexLast returns the last payload of a kind that a mark of its line names.
func codexLast(end []byte, mark string) codexPayload {
	for line := range linesBackwards(end) {
		if l := new(codexLine); bytes.Contains(line[:min(len(line), 256)], []byte(mark)) && loose(line, l) {
			return l.Payload
		}
	}
	return codexPayload{}
}
