package codex

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/transcripts"
	logs "flame/transcripts/codex"
)

// askTool is the client's own tool that asks the user.
const askTool = "request_user_input"

// wire is how Codex speaks with its model. OpenAI does not document whether reasoning holds after a
// change of its past.
func wire() *hosts.GatewaySpec {
	return &hosts.GatewaySpec{
		Lines: []string{`resume`, `exec "Fix the login"`},
		Waits: true,
		API:   hosts.ResponsesAPI, Tools: tools, RequestInfo: asked, FlameTool: ownTool, UserWords: said, Dialog: dialog, KeepsText: lasts,
		Answer: answerOf, IsSummary: logs.IsSummary,
		Usage: usageOf, Prices: cachePrices,
	}
}

// cachePrices returns the list prices. Where they say nothing, reading costs a tenth, and writing
// nothing more, as with most models of OpenAI's.
func cachePrices(model string, hour bool) (read, write float64) {
	read, write = transcripts.CachePrices(model, hour)
	return cmp.Or(read, 0.1), cmp.Or(write, 1)
}

// The headers of a request.
const (
	sessionHeader = "Session-Id" // the root's, in subagents too
	threadHeader  = "Thread-Id"
	turnHeader    = "X-Codex-Turn-Metadata" // JSON
)

// kinds are the classes of requests, by what Codex calls them; the others are beside the
// conversation.
var kinds = map[string]hosts.RequestClass{"": hosts.ClassMain, "turn": hosts.ClassMain, "compaction": hosts.ClassCompaction}

// asked reads the headers. Each subagent is a thread of its own.
func asked(h http.Header, _ []byte) hosts.RequestInfo {
	var turn struct {
		Kind string `json:"request_kind"`
	}
	if json.Unmarshal([]byte(h.Get(turnHeader)), &turn) != nil {
		turn.Kind = "" // it sends the conversation, as far as anyone knows
	}
	class, known := kinds[turn.Kind]
	if !known {
		class = hosts.ClassAuxiliary
	}
	a := hosts.RequestInfo{Session: h.Get(sessionHeader), Agent: h.Get(threadHeader), Class: class}
	switch {
	case a.Agent == a.Session:
		a.Agent = ""
	case a.Agent != "" && class == hosts.ClassMain:
		a.Class = hosts.ClassSubagent
	}
	return a
}

// ownTool returns flame's name of one of its tools, or "" for another tool.
func ownTool(tool string) op.Name {
	name, ours := strings.CutPrefix(tool, serverPrefix)
	if !ours {
		return ""
	}
	return op.Name(name)
}

// said returns the user's words in a message. The developer's are Codex's and its hooks'.
func said(text string, system bool) string {
	if system || logs.IsInjected(text) || logs.IsSummary(text) {
		return ""
	}
	return text
}

// dialog returns the user's answers to questions. The reason of a refusal is a message.
func dialog(tool, result string, _ bool) (d hosts.Dialog) {
	if tool == askTool {
		d = hosts.AnswersOf(answerOf(result))
	}
	return d
}

// lasts reports whether a text of Codex's own stays: it may change what the model may do. Contexts of
// flame's go with the work that they introduce.
func lasts(text string) bool { return !strings.HasPrefix(strings.TrimSpace(text), "<flame-") }

// answerOf returns what a tool answered, without the time that it took, which Codex writes before it.
func answerOf(text string) string {
	if before, answer, found := strings.Cut(text, "\nOutput:\n"); found && strings.HasPrefix(before, "Wall time:") {
		return answer
	}
	return text
}

// usageOf returns what an answer used, with its list price.
func usageOf(model string, usage, _ []byte) core.Usage {
	var u struct {
		Input   int64 `json:"input_tokens"`
		Details struct {
			Read    int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output int64 `json:"output_tokens"` // reasoning included
	}
	if json.Unmarshal(usage, &u) != nil {
		return core.Usage{}
	}
	return transcripts.WithPrice(model, logs.Usage(u.Input, u.Details.Read, u.Details.Written, u.Output))
}
