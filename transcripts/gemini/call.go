package gemini

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/transcripts"
)

// InvokeTool is the client's own tool that starts a subagent.
const InvokeTool = "invoke_agent"

// The client's own tools that write files.
const (
	WriteTool   = "write_file"
	ReplaceTool = "replace"
)

// A call is a tool call that has ended.
type call struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result []struct {
		Response struct {
			Response struct {
				Output transcripts.LenientText `json:"output"`
				Error  transcripts.LenientText `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	} `json:"result"`
	Agent   string  `json:"agentId"`       // of the subagent that it started
	Status  string  `json:"status"`        // success, error or cancelled
	Display display `json:"resultDisplay"` // a text stays unset
}

// A display is what the client shows people of a call that wrote a file.
type display struct {
	Diff string `json:"fileDiff"`
	Path string `json:"filePath"`
	New  bool   `json:"isNewFile"`
}

// result returns the result of the call.
func (c call) result() core.Part {
	part := core.Part{Type: core.PartToolResult, CallID: c.ID, Tool: c.Name, Failed: c.failed(), Text: c.output()}
	if !part.Failed {
		part.Files = c.files()
	}
	return part
}

func (c call) failed() bool { return c.Status == "error" || c.Status == "cancelled" }

// output returns what the model reads of the result.
func (c call) output() (text string) {
	for _, r := range c.Result {
		text += string(r.Response.Response.Output + r.Response.Response.Error)
	}
	return text
}

// file returns the file that a call writes; empty for others.
func (c call) file() string {
	if c.Name != WriteTool && c.Name != ReplaceTool {
		return ""
	}
	var args struct {
		Path string `json:"file_path"`
	}
	transcripts.DecodeLenient(c.Args, &args)
	return args.Path
}

// files returns the change that the client shows of a file that the call wrote.
func (c call) files() []core.FileChange {
	path := c.file()
	if path == "" {
		return nil
	}
	if filepath.IsAbs(c.Display.Path) {
		path = c.Display.Path
	}
	kind := core.FileModified
	if c.Display.New {
		kind = core.FileAdded
	}
	return transcripts.DropInvalidChanges([]core.FileChange{transcripts.ParseDiff(c.Display.Diff).Of(path, kind)})
}

// A Child is a call that started a subagent, and how it ended.
type Child struct {
	Prompt string
	Result string // its last message, or why it failed
	End    core.ChildEnd

	kind, session, call string // name and id of the subagent, and id of the call
}

// states are the states of subagents, by how they ended.
var states = map[core.ChildEnd]core.AgentState{
	core.ChildCompleted: core.AgentCompleted, core.ChildFailed: core.AgentError, core.ChildCancelled: core.AgentCancelled,
}

// note returns what the call says about the subagent.
func (c Child) note(parent string) core.AgentInfo {
	n := core.AgentInfo{ID: c.session, Call: c.call, Spawn: true, Parent: parent, Type: c.kind, Prompt: c.Prompt, State: states[c.End]}
	if c.End == core.ChildCompleted {
		n.Result = c.Result
	} else {
		n.Error = c.Result
	}
	return n
}

// child returns the subagent that the call started; zero for another call.
func (c call) child() (child Child) {
	var args struct {
		Agent  string `json:"agent_name"`
		Prompt string `json:"prompt"`
	}
	if c.Name != InvokeTool || !transcripts.DecodeLenient(c.Args, &args) {
		return child
	}
	child.Prompt, child.kind, child.session, child.call = args.Prompt, args.Agent, c.Agent, c.ID
	if child.End, child.Result = endOf(c.output()); c.Status == "cancelled" {
		child.End = core.ChildCancelled
	}
	return child
}

// completes returns the result with which the call ends a subagent; empty for another call.
func (c call) completes() string {
	var args struct {
		Result json.RawMessage `json:"result"`
	}
	if c.Name != "complete_task" || c.failed() || !transcripts.DecodeLenient(c.Args, &args) {
		return ""
	}
	var text string
	if json.Unmarshal(args.Result, &text) != nil {
		text = unwrapped(string(args.Result))
	}
	return text
}

// reason finds why a subagent stopped, and what it said last, in the answer of the tool that started
// it.
var reason = core.Pattern(`(?s)Termination Reason: (\w+)\s*Result:\s*(.*)`)

// SubagentEnd returns how a subagent ended, and its last message or why it failed, from the answer of the
// tool that started it: a text, or a list of parts.
func SubagentEnd(answer json.RawMessage) (core.ChildEnd, string) {
	var text transcripts.LenientText
	transcripts.DecodeLenient(answer, &text)
	return endOf(string(text))
}

func endOf(text string) (end core.ChildEnd, last string) {
	text = WithoutContext(text)
	found := reason().FindStringSubmatch(text)
	if found == nil {
		return core.ChildFailed, text
	}
	last = found[2]
	for _, added := range []string{"[System] Tool input parameters", "</untrusted_context>"} {
		if i := strings.LastIndex(last, added); i >= 0 {
			last = last[:i]
		}
	}
	switch found[1] {
	case "GOAL":
		end = core.ChildCompleted
	case "ABORTED":
		end = core.ChildCancelled
	default:
		end = core.ChildFailed
	}
	return end, unwrapped(strings.TrimSpace(last))
}

// unwrapped returns the text in an object that has no other member: some of the client's own
// subagents answer in that form.
func unwrapped(last string) string {
	var members map[string]any
	if !strings.HasPrefix(last, "{") || json.Unmarshal([]byte(last), &members) != nil || len(members) != 1 {
		return last
	}
	for _, value := range members {
		if text, ok := value.(string); ok {
			return text
		}
	}
	return last
}

// Children returns the calls that started subagents and have ended, from the end of a session's
// file.
func Children(end []byte) (ended []Child) {
	for line := range transcripts.Backwards(end) {
		var r record
		if !strings.Contains(string(line[:min(len(line), maxHead)]), `"gemini"`) || !transcripts.DecodeLenient(line, &r) {
			continue
		}
		for _, c := range slices.Backward(r.Calls) {
			if child := c.child(); child.Prompt != "" {
				ended = append(ended, child)
			}
		}
	}
	return ended
}

// WrittenFiles returns the files that the calls in a part of a session's file have written, in order.
func WrittenFiles(part []byte) (files []string) {
	for line := range transcripts.Backwards(part) {
		var r record
		if !transcripts.DecodeLenient(transcripts.ShortenJSON(line), &r) {
			continue
		}
		for _, c := range r.Calls {
			if file := c.file(); file != "" && !c.failed() && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	slices.Reverse(files)
	return files
}
