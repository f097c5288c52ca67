package claudecode

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/transcripts"
)

// The client's own tools in which a user speaks.
const (
	askTool  = "AskUserQuestion"
	planTool = "ExitPlanMode"
)

// wire is how Claude Code speaks with its model.
func wire() *hosts.GatewaySpec {
	return &hosts.GatewaySpec{
		Lines: []string{`--resume`, `-p "Fix the login"`},
		API:   hosts.MessagesAPI, Folds: true, Tools: tools, RequestInfo: asked, FlameTool: ownTool, UserWords: said, Dialog: dialog, Report: report,
		IsSummary: isSummary,
		Usage:     transcripts.ClaudeUsage, Prices: transcripts.CachePrices,
	}
}

// The headers of a request. All but the first two come only with HintVariable set.
const (
	sessionHeader = "X-Claude-Code-Session-Id"
	agentHeader   = "X-Claude-Code-Agent-Id"
	classHeader   = "X-Claude-Code-Request-Class"
)

// What a request has in a header that asks for a window of a million tokens.
const (
	betaHeader = "Anthropic-Beta"
	longWindow = "context-1m-"
)

// asked reads the headers. A client that tells no class sends the conversation, as far
// as anyone knows.
func asked(h http.Header, _ []byte) hosts.RequestInfo {
	a := hosts.RequestInfo{Session: h.Get(sessionHeader), Agent: h.Get(agentHeader)}
	usual := hosts.ClassMain
	if a.Agent != "" {
		usual = hosts.ClassSubagent
	}
	a.Class = cmp.Or(hosts.RequestClass(h.Get(classHeader)), usual)
	if strings.Contains(strings.Join(h.Values(betaHeader), ","), longWindow) {
		a.Window = core.LongWindow
	}
	return a
}

// ownTool returns flame's name of one of its tools, or "" for another tool.
func ownTool(tool string) op.Name {
	return op.Name(event{Event: hooks.Event{Tool: tool}}.toolOfFlame())
}

// Texts by which Claude Code's own words are known (observed).
const (
	whileWorking = "The user sent a new message while you were working:"
	midTurn      = "\n\nThis is how Claude Code surfaces messages the user sends mid-turn"
	continued    = "This session is being continued from a previous conversation"
	reminder     = "<system-reminder>\n"                           // begins what it adds to a result
	hint         = "\n\nNote: The user's next message may contain" // begins what it adds to a refusal
)

// byClient matches the beginning of what the client says in the user's name. What it puts
// in tags about the user's own commands is the user's.
var byClient = core.Pattern(`^\s*(?:<(?:system-reminder|task-notification|local-command-caveat|local-command-stdout|local-command-stderr)>` +
	`|\[Request interrupted by user[^\]]*\]\s*$)`)

func said(text string, system bool) string {
	if system {
		if words, ok := strings.CutPrefix(text, whileWorking); ok {
			words, _, _ = strings.Cut(words, midTurn)
			return strings.TrimSpace(words)
		}
		return ""
	}
	if byClient().MatchString(text) {
		return ""
	}
	return text
}

// What Claude Code writes around a user's words in the results of its tools (observed).
var (
	refusal = core.Pattern(`(?s)^(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)\. [^\n]{0,200}` +
		`[Tt]he user said:\n(.+)`)
	// failures matches how the results of calls that ran and failed begin. Those of calls that a
	// program refused in the user's name have that program's words alone.
	failures = core.Pattern(`^(?:<tool_use_error>|(?:Error: )?Exit code |Error|Command |Permission |Hook |PreToolUse|\[Request interrupted|The user doesn't)`)
)

// dialog returns what the user said in a result: to a question, or to refuse a call. Words typed
// while the model worked stand in the last result for models that take no messages of role system.
func dialog(tool, result string, failed bool) hosts.Dialog {
	said, _, _ := strings.Cut(result, reminder)
	said, _, _ = strings.Cut(strings.TrimSpace(said), hint)
	found := refusal().FindStringSubmatch(said)
	switch {
	case strings.Contains(result, reminder+whileWorking), tool == planTool && strings.Contains(said, "(edited by user)"):
		return hosts.Dialog{Stays: true}
	case tool == askTool && !failed:
		return hosts.Dialog{Answer: said}
	case failed && found != nil && tools.Knows(tool):
		return hosts.Dialog{Refusal: found[1]}
	}
	refuses := failed && said != "" && !failures().MatchString(said) && slices.Contains(tools.Names(hosts.EffectRun, hosts.EffectEdit), tool)
	return hosts.Dialog{Stays: failed && found != nil || refuses}
}

func isSummary(text string) bool { return strings.HasPrefix(text, continued) }

// What Claude Code writes around a subagent's words in the result of its call (observed).
var (
	handBack = core.Pattern(`^\[Subagent hand-back\][^\n]*\n`)
	launched = core.Pattern(`^(?:Async agent launched|Spawned|Remote agent)`)
)

// report returns a subagent's words in the result of its call.
func report(result string) string {
	if launched().MatchString(result) {
		return ""
	}
	result = result[len(handBack().FindString(result)):]
	result, _, _ = strings.Cut(result, "\nagentId: ")
	result, _, _ = strings.Cut(result, reminder)
	return strings.TrimSpace(result)
}

// shown reads what the client tells the command of its status line.
func shown(document []byte) (s hosts.LinePlace, ok bool) {
	told := gjson.ParseBytes(document)
	s.Session = told.Get("session_id").Str
	for _, dir := range []string{told.Get("workspace.project_dir").Str, told.Get("cwd").Str} {
		if s.Folder == "" && filepath.IsAbs(dir) {
			s.Folder = dir
		}
	}
	return s, json.Valid(document) && s.Session != ""
}
