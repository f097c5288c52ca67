// Package codex reads the logs that Codex CLI keeps of its threads, and what it prints.
package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"flame/core"
	"flame/transcripts"
)

// The formats of Codex.
var (
	// Rollout is the JSONL file of a thread: a session, or a subagent, which is a thread of its
	// own. A fork names the file that it goes on from and copies nothing; older clients copied it.
	Rollout = &transcripts.Format{
		Name: "Codex's rollout files", Host: "codex", Kept: true,
		Lines: func() func([]byte) core.Message { return (&rollout{files: map[string][]core.FileChange{}}).line },
		Entry: func(e transcripts.Entry) bool { return e.Text("type") == "session_meta" && e.Has("payload") },
	}
	// Run is the output of the client.
	Run = &transcripts.Format{
		Name: "Codex's exec --json", Host: "codex",
		Lines: func() func([]byte) core.Message { return (&run{}).line },
		Entry: func(e transcripts.Entry) bool { return e.Text("type") == "thread.started" && e.Text("thread_id") != "" },
	}
)

// A rollout is the state between the lines of a thread's file. The items of an answer share the id
// of the first one. Its usage comes behind them, with the id that the API gave to all: a reading may
// begin in between.
type rollout struct {
	thread string
	model  string
	answer string                       // id of the answer whose usage is still to come
	files  map[string][]core.FileChange // of calls whose output is still to come
	older
}

// maxOpenCalls bounds the calls whose changes of files are remembered.
const maxOpenCalls = 64

// An entry is a line of a rollout.
type entry struct {
	Time    transcripts.LenientTime `json:"timestamp"`
	Type    string                  `json:"type"`
	Payload payload                 `json:"payload"`
}

// A payload has the fields of all kinds of lines that flame reads.
type payload struct {
	Type string `json:"type"`
	ID   string `json:"id"`

	Parent string `json:"parent_thread_id"` // of session_meta, in a subagent's file
	Folder string `json:"cwd"`
	Role   string `json:"agent_role"`
	Forked string `json:"forked_from_id"`
	Source source `json:"source"`

	Created transcripts.LenientTime `json:"timestamp"`
	Turn    string                  `json:"turn_id"`
	Info    count                   `json:"info"` // of token_count

	Speaker   core.Role               `json:"role"` // of a message
	Content   transcripts.LenientText `json:"content"`
	Summary   transcripts.LenientText `json:"summary"` // of reasoning
	Name      string                  `json:"name"`
	Space     string                  `json:"namespace"`
	Arguments string                  `json:"arguments"` // JSON
	Input     string                  `json:"input"`     // of a tool that takes a text
	Call      string                  `json:"call_id"`
	Output    transcripts.LenientText `json:"output"`

	Model    string `json:"model"`
	Usage    tokens `json:"usage"`
	Response string `json:"response_id"`
	Message  string `json:"message"` // of a compaction, and of an error
	Last     string `json:"last_agent_message"`
	Reason   string `json:"reason"`
	Item     piece  `json:"item"`
	Sandbox  struct {
		Type string `json:"type"`
	} `json:"sandbox_policy"`
}

// A piece is a part of a turn, as Codex shows it to people.
type piece struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Changes map[string]edit `json:"changes"` // by file
	Status  string          `json:"status"`
}

// An edit is the change of one file.
type edit struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	Diff    string `json:"unified_diff"`
	MovedTo string `json:"move_path"`
}

// tokens are the usage of an answer. What is read from the cache and written to it is part of
// the input.
type tokens struct {
	Input        int64 `json:"input_tokens"`
	CacheRead    int64 `json:"cached_input_tokens"`
	CacheWritten int64 `json:"cache_write_input_tokens"`
	Output       int64 `json:"output_tokens"`
	Reasoning    int64 `json:"reasoning_output_tokens"`
}

func (u tokens) usage() core.Usage { return Usage(u.Input, u.CacheRead, u.CacheWritten, u.Output) }

// Usage returns the usage of an answer, without a price. Read and written tokens of the cache are
// part of the input.
func Usage(input, read, written, output int64) core.Usage {
	return core.Usage{
		TokensIn: max(0, input-read-written), TokensOut: max(0, output), CacheRead: max(0, read), CacheWritten: max(0, written),
	}
}

// rolloutAsides are the types of lines that are neither messages nor about threads.
var rolloutAsides = map[string]bool{"turn_context": true, "world_state": true, "event_msg": true, "response_item": true, "session_meta": true}

// line reads a line of a thread's file.
func (r *rollout) line(text []byte) core.Message {
	var l entry
	if !transcripts.DecodeLenient(text, &l) {
		return transcripts.OtherMessage(text)
	}
	p := l.Payload
	m := core.Message{Session: r.thread, Time: core.Millis(l.Time)}
	if l.Type != "session_meta" && r.isCopy(l) {
		r.model = cmp.Or(p.Model, r.model)
		r.counted(p.Info)
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), true)
	}
	switch l.Type {
	case "session_meta":
		return r.begins(text, l)
	case "turn_context":
		r.model = cmp.Or(p.Model, r.model)
	case "event_msg":
		if m = r.told(m, p.Info); m.Role != "" {
			return m
		}
		return r.event(text, p)
	case "compacted":
		m.Role, m.Summary, m.Parts = core.RoleUser, true, []core.Part{{Type: core.PartText, Text: summaryOf(p.Message)}}
		return m
	case "token_usage_record":
		m.Role, m.ID, m.Model, m.Usage = core.RoleAssistant, cmp.Or(p.Response, r.answer), r.model, transcripts.WithPrice(r.model, p.Usage.usage())
		r.answer, m.Synthetic, r.records = "", true, true
		return m
	case "response_item":
		if m = r.item(m, p); m.Role != "" {
			return m
		}
	}
	return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), rolloutAsides[l.Type])
}

// begins reads a session_meta: the thread's own, or a copy of another's.
func (r *rollout) begins(text []byte, l entry) core.Message {
	p := l.Payload
	switch {
	case r.thread == "":
		r.thread = p.ID
		r.begin(l)
	case p.ID != r.thread:
		r.copied = r.copied || !r.spoke
		r.watch = r.copied
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), true)
	}
	return transcripts.AgentMessage(text, r.thread, core.AgentInfo{
		ID: r.thread, Parent: p.parent(), Spawn: p.parent() != "", Type: cmp.Or(p.Role, p.Source.Subagent.Spawn.Role),
		Started: core.Millis(l.Time), State: core.AgentActive,
	})
}

// event reads what Codex says about a turn.
func (r *rollout) event(text []byte, p payload) core.Message {
	n := core.AgentInfo{ID: r.thread}
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
		return transcripts.MarkIrrelevant(transcripts.AgentMessage(text, r.thread), true)
	}
	return transcripts.AgentMessage(text, r.thread, n)
}

// item returns m as the message of an item of the conversation; without a role if it is none.
func (r *rollout) item(m core.Message, p payload) core.Message {
	part := core.Part{CallID: p.Call, Tool: p.tool()}
	switch p.Type {
	case "message":
		if p.Speaker != core.RoleUser && p.Speaker != core.RoleAssistant {
			return m
		}
		m.Role, part = p.Speaker, core.Part{Type: core.PartText, Text: string(p.Content)}
		m.Synthetic = m.Role == core.RoleUser && IsInjected(part.Text)
		m.Notes = notified(part.Text, m.Synthetic)
	case "reasoning":
		m.Role, part = core.RoleAssistant, core.Part{Type: core.PartReasoning, Text: string(p.Summary)}
	case "function_call":
		m.Role, part.Type, part.Input = core.RoleAssistant, core.PartToolCall, asJSON(p.Arguments)
	case "custom_tool_call":
		m.Role, part.Type, part.Input = core.RoleAssistant, core.PartToolCall, asJSON(p.Input)
	case "function_call_output", "custom_tool_call_output":
		m.Role, part.Type, part.Tool, part.Text = core.RoleUser, core.PartToolResult, "", string(p.Output)
		part.Failed, part.Files = failed(part.Text), r.files[p.Call]
		delete(r.files, p.Call)
		var made struct {
			Agent string `json:"agent_id"`
		}
		if strings.HasPrefix(part.Text, `{"agent_id":`) && transcripts.DecodeLenient([]byte(part.Text), &made) && made.Agent != "" {
			m.Notes = []core.AgentInfo{{ID: made.Agent, Call: p.Call, Spawn: true, Parent: r.thread}}
		}
	default:
		return m
	}
	m.Parts = []core.Part{part}
	if m.Role == core.RoleAssistant {
		r.answer = cmp.Or(r.answer, p.ID, p.Call)
		m.ID, m.Model, r.spoke = r.answer, r.model, true
	}
	if part.Type == core.PartToolCall {
		m.Usage.ToolCalls = 1
	}
	return m
}

// tool returns the name of a call's tool as hooks see it.
func (p payload) tool() string {
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

// IsInjected reports whether Codex wrote a text of the user's: it puts its own into tags.
func IsInjected(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") || strings.HasPrefix(text, "# AGENTS.md instructions")
}

// notified returns what a message of Codex's own says about the end of a subagent.
func notified(text string, own bool) []core.AgentInfo {
	text, found := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(text), "</subagent_notification>"), "<subagent_notification>")
	var told struct {
		Agent  string            `json:"agent_path"`
		ID     string            `json:"agent_id"` // of older clients
		Status map[string]string `json:"status"`
	}
	if !own || !found || !transcripts.DecodeLenient([]byte(text), &told) || told.Agent+told.ID == "" {
		return nil
	}
	n := core.AgentInfo{ID: cmp.Or(told.Agent, told.ID)}
	for status, last := range told.Status {
		if n.State = states[status]; n.State == core.AgentCompleted {
			n.Result = last
		}
	}
	return []core.AgentInfo{n}
}

// exit finds the status of a command that has ended.
var exit = core.Pattern(`^(?:[^\n]*\n){0,4}?(?:Process exited with code|Exit code:) (-?\d+)\n`)

// statusOf returns the status with which a command ended; empty if the output names none.
func statusOf(output string) string {
	if found := exit().FindStringSubmatch(output[:min(len(output), 1<<10)]); found != nil {
		return found[1]
	}
	return ""
}

// failed reports whether a tool's output says that the call failed.
func failed(output string) bool {
	status := statusOf(output)
	return status != "" && status != "0" || strings.HasPrefix(output, "unsupported ") ||
		strings.HasPrefix(output, "apply_patch verification failed")
}

// files returns the changes of an item's files.
func (i piece) files() (changes []core.FileChange) {
	if i.Type != "FileChange" || i.Status != "completed" {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(i.Changes)) {
		c := i.Changes[path]
		switch c.Type {
		case "add":
			changes = append(changes, transcripts.NewFilePatch(c.Content).Of(path, core.FileAdded))
		case "delete":
			changes = append(changes, transcripts.DeletedFilePatch(c.Content).Of(path, core.FileDeleted))
		case "update":
			change := transcripts.ParseDiff(c.Diff).Of(path, core.FileModified)
			if c.MovedTo != "" {
				change.Path, change.From = c.MovedTo, path
			}
			changes = append(changes, change)
		}
	}
	return transcripts.DropInvalidChanges(changes)
}

// summarized begins the words that Codex puts before the summary of a compaction.
const summarized = "Another language model"

// IsSummary reports whether a text is the summary of a compaction, as Codex sends it to the model.
func IsSummary(text string) bool { return strings.HasPrefix(text, summarized) }

// summaryOf returns the summary of a compaction without Codex's words before it.
func summaryOf(message string) string {
	if before, summary, found := strings.Cut(message, ":\n"); found && IsSummary(before) {
		return summary
	}
	return message
}

// ThreadStart returns the folder in which a thread was started, and the thread that started it, empty
// for a session, by the beginning of its file.
func ThreadStart(head []byte) (folder, parent string) {
	head, _, _ = bytes.Cut(head, []byte("\n"))
	if l := new(entry); transcripts.DecodeLenient(head, l) && l.Type == "session_meta" {
		return l.Payload.Folder, l.Payload.parent()
	}
	return "", ""
}

// Origin returns the id of the thread from which a thread was forked; empty for others. head is the
// beginning of its file.
func Origin(head []byte) string {
	head, _, _ = bytes.Cut(head, []byte("\n"))
	if l := new(entry); transcripts.DecodeLenient(head, l) && l.Type == "session_meta" {
		return l.Payload.Forked
	}
	return ""
}

// Sandbox returns the name of the sandbox of the last turn in the end of a thread's file; empty
// if it does not say.
func Sandbox(end []byte) string { return last(end, `"type":"turn_context"`).Sandbox.Type }

// Summary returns the summary of the last compaction in the end of a thread's file; empty if it
// has none.
func Summary(end []byte) string { return summaryOf(last(end, `"type":"compacted"`).Message) }

// last returns the last payload of a kind that a mark of its line names.
func last(end []byte, mark string) payload {
	for line := range transcripts.Backwards(end) {
		if l := new(entry); bytes.Contains(line[:min(len(line), 256)], []byte(mark)) && transcripts.DecodeLenient(line, l) {
			return l.Payload
		}
	}
	return payload{}
}
