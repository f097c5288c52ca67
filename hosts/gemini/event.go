package gemini

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"flame/core"
	"flame/hosts/hooks"
	logs "flame/transcripts/gemini"
)

// An event is what Gemini CLI sends a hook, as far as flame reads it. Session and Transcript are
// those of the session itself, in subagents too: it does not say which of them calls a tool.
type event struct {
	hooks.Event
	At     string `json:"timestamp"`
	Said   string `json:"prompt_response"` // all that the agent said in its turn
	Server struct {
		Tool string `json:"tool_name"`
	} `json:"mcp_context"`
}

// An invocation is the input of the tool that starts a subagent.
type invocation struct {
	Agent  string `json:"agent_name"`
	Prompt string `json:"prompt"`
}

// invoked returns the input of that tool; zero if it is something else.
func (e *event) invoked() (call invocation) {
	if json.Unmarshal(e.Input, &call) != nil {
		return invocation{}
	}
	return call
}

// at returns when the event happened; 0 if it does not say.
func (e *event) at() core.Millis {
	at, err := time.Parse(time.RFC3339, e.At)
	if err != nil {
		return 0
	}
	return core.MillisOf(at)
}

// A result is the answer of a tool.
type result struct {
	Text  json.RawMessage `json:"llmContent"` // a text, or a list of parts
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// answered returns how a subagent ended, and its last message.
func (e *event) answered() (end core.ChildEnd, last string) {
	var r result
	if json.Unmarshal(e.Response, &r) != nil {
		return core.ChildFailed, ""
	}
	if r.Error != nil {
		return core.ChildFailed, r.Error.Message
	}
	return logs.SubagentEnd(r.Text)
}

// file returns the file that a call writes.
func (e *event) file() string {
	var call struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(e.Input, &call) != nil || call.Path == "" {
		return ""
	}
	return absolute(e.Folder, call.Path)
}

// absolute returns a path as it is seen from a folder.
func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// callID returns an id for the call that the event is about: Gemini CLI gives none.
func (e *event) callID() string {
	sum := sha256.New()
	for _, part := range []string{e.Session, e.At, e.Tool, string(e.Input)} {
		fmt.Fprintf(sum, "%d %s\n", len(part), part)
	}
	return fmt.Sprintf("call-%x", sum.Sum(nil)[:4])
}

// mark returns the line by which flame finds the log of a subagent: the call that started it, in its
// prompt.
func mark(call string) string { return "[flame: " + call + "]" }

// marks finds the mark in a prompt.
var marks = core.Pattern(`\[flame: (call-[0-9a-f]{8})\]`)

// marked returns the call whose mark a text has; empty if it has none.
func marked(text string) string {
	found := marks().FindAllStringSubmatch(text, -1)
	if found == nil {
		return ""
	}
	return found[len(found)-1][1] // a model may repeat an older one before it
}

// Bounds of what a hook reads of a log, in bytes.
const (
	maxTail  = 512 << 10
	maxHead  = 256 << 10
	maxChild = 64 << 10 // of the end of a subagent's, at a call
)

// logsBelow returns the paths of the logs of a session's subagents.
func (e *event) logsBelow() []string {
	if e.Transcript == "" || e.Session != filepath.Base(e.Session) || strings.ContainsAny(e.Session, `*?[\`) {
		return nil
	}
	chats := filepath.Dir(e.Transcript)
	if strings.ContainsAny(chats, `*?[\`) {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(chats, e.Session, "*.jsonl"))
	if err != nil {
		return nil
	}
	return found[:min(len(found), maxChildren)]
}

// maxChildren bounds the subagents of a session whose logs a hook looks at.
const maxChildren = 256

// manifest is the file of our extension that names it.
const manifest = "gemini-extension.json"

// folderVariable is the environment variable that names the extension's folder to its hooks.
const folderVariable = "EXTENSION_ROOT"
