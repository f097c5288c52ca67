package claudecode

import (
	"cmp"
	"net/http"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/transcripts"
)

// wire is how Claude Code speaks with its model.
func wire() *hosts.Wire {
	return &hosts.Wire{
		Lines: []string{`--resume`, `-p "Fix the login"`},
		API:   hosts.MessagesAPI, Folds: true, Asked: asked, Own: ownTool, Said: said, IsSummary: isSummary,
		Usage: transcripts.ClaudeUsage, Prices: transcripts.CachePrices,
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
func asked(h http.Header, _ []byte) hosts.Asked {
	a := hosts.Asked{Session: h.Get(sessionHeader), Agent: h.Get(agentHeader)}
	usual := hosts.Main
	if a.Agent != "" {
		usual = hosts.Subagent
	}
	a.Class = cmp.Or(hosts.Class(h.Get(classHeader)), usual)
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
	continued    = "This session is being continued from a previous conversation"
)

// byClient matches the beginning of what the client says in the user's name. What it puts
// in tags about the user's own commands is the user's.
var byClient = core.Pattern(`^\s*(?:<(?:system-reminder|task-notification|local-command-caveat|local-command-stdout|local-command-stderr)>` +
	`|\[Request interrupted by user[^\]]*\]\s*$)`)

func said(text string, system bool) string {
	if system {
		if words, ok := strings.CutPrefix(text, whileWorking); ok {
			return strings.TrimSpace(words)
		}
		return ""
	}
	if byClient().MatchString(text) {
		return ""
	}
	return text
}

func isSummary(text string) bool { return strings.HasPrefix(text, continued) }
