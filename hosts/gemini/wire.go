package gemini

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/transcripts"
	logs "flame/transcripts/gemini"
)

// The client's own tools in which a user speaks.
const (
	askTool  = "ask_user"
	planTool = "exit_plan_mode"
)

// wire is how Gemini CLI speaks with its model. The API says which signatures a request needs, but not
// what it does with those of another past.
func wire() *hosts.GatewaySpec {
	return &hosts.GatewaySpec{
		Lines: []string{`--resume latest`, `-p "Fix the login"`},
		API:   hosts.ContentsAPI, NoSessionID: true, Tools: tools, RequestInfo: asked, FlameTool: ownTool, Dialog: dialog, IsSummary: logs.IsSummary,
		Answer:    logs.Unwrapped,
		UserWords: func(text string, system bool) string { return logs.UserText(text) },
		Usage:     logs.Usage, Prices: transcripts.CachePrices,
	}
}

// summarizes is a word of the system prompt of a request for a summary.
const summarizes = "<state_snapshot>"

// asked reads what a request is for. Conversations have functions; the client's own searches
// have tools of the API alone. The first message of a subagent has the mark
// that flame put into its prompt.
func asked(_ http.Header, body []byte) hosts.RequestInfo {
	request := gjson.ParseBytes(body)
	converses := request.Get("tools.#.functionDeclarations|0").Exists()
	switch {
	case body == nil:
		return hosts.RequestInfo{Class: hosts.ClassMain}
	case !converses && strings.Contains(request.Get("systemInstruction.parts.0.text").Str, summarizes):
		return hosts.RequestInfo{Class: hosts.ClassCompaction}
	case !converses:
		return hosts.RequestInfo{Class: hosts.ClassAuxiliary}
	}
	for _, first := range request.Get("contents").Array() {
		for _, part := range first.Get("parts").Array() {
			if marked(part.Get("text").Str) != "" {
				return hosts.RequestInfo{Class: hosts.ClassSubagent}
			}
		}
		if first.Get("role").Str == "model" {
			break
		}
	}
	return hosts.RequestInfo{Class: hosts.ClassMain}
}

// remark finds the reason for which the user refused a plan.
var remark = core.Pattern(`(?s)^Plan rejected\. User feedback: (.+?)(?:\n\nThe plan is stored at: .*)?$`)

// dialog returns the user's answers to questions, and remarks about plans. The reason of another refusal is a message.
func dialog(tool, result string, _ bool) (d hosts.Dialog) {
	switch found := remark().FindStringSubmatch(result); {
	case tool == askTool:
		return hosts.AnswersOf(result)
	case tool == planTool && found != nil:
		d.Refusal = found[1]
	}
	return d
}

// ownName finds flame's name of one of its tools in the name that Gemini CLI gives it.
var ownName = core.Pattern(`^mcp_.+?_(flame_[a-z][a-z_]*|` + hooks.SpawnTool + `)$`)

// ownTool returns flame's name of one of its tools, or "" for another tool.
func ownTool(tool string) op.Name {
	if found := ownName().FindStringSubmatch(tool); found != nil {
		return op.Name(found[1])
	}
	return ""
}
