package claudecode

import (
	"slices"
	"strings"
)

// hookSeconds is how long Claude Code waits for a hook that hangs; flame itself
// gives up earlier.
const hookSeconds = 5

// A hookEntry is what Claude Code does for an event: it starts a program, without a shell
// in between, or calls a tool of an MCP server.
type hookEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Server  string            `json:"server,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Input   map[string]string `json:"input,omitempty"`
	Timeout int               `json:"timeout"`
}

// A hookMatcher says for which tools, or which causes of an event, hooks run.
type hookMatcher struct {
	Matcher string      `json:"matcher,omitempty"`
	Hooks   []hookEntry `json:"hooks"`
}

// A process is an event for which Claude Code starts flame hook even where its other hooks
// call the server of the session.
type process struct {
	event string
	tools string // regular expression as in a row; empty: whatever the tool
	why   string // in one sentence, for the documentation
}

// processes lists these events: those that reach no server, those that Claude Code drops
// while a server is starting (both observed with version 2.1.328), and rare ones that
// nothing could make up for if the server were killed while it has them.
var processes = []process{
	{"SessionStart", "", "No server is connected yet; after a compaction, nothing else gives the context back."},
	{"PostToolUseFailure", agentTools, "Nothing else tells that a subagent failed."},
	{"SubagentStart", "", "Claude Code does not wait for a server that is starting."},
	{"StopFailure", "", "Claude Code does not wait for a server that is starting."},
	{"PreCompact", "", "Nothing else tells the model what its summary needs."},
	{"PostCompact", "", "Claude Code does not wait for a server that is starting, and only this event has the summary."},
	{"SessionEnd", "", "Claude Code has stopped the server before."},
}

// hooksFile returns the plugin's hooks.json: for each event one entry for the tools of all
// its rows, or two where some of them start a process and others call the server.
func hooksFile(calling bool) ([]byte, error) {
	entries := map[string][]hookMatcher{}
	for _, r := range rows {
		entries[r.event] = matchersOf(r.event, calling)
	}
	return encode(map[string]any{"description": "Keeps flame's frames in step with the session", "hooks": entries})
}

func matchersOf(event string, calling bool) []hookMatcher {
	command := []hookEntry{{Type: "command", Command: "flame", Args: []string{"hook", Name}, Timeout: hookSeconds}}
	call := []hookEntry{{Type: "mcp_tool", Server: pluginServer, Tool: callTool, Input: callInput(), Timeout: hookSeconds}}
	all := hookMatcher{Matcher: matcherOf(event), Hooks: command}
	if !calling {
		return []hookMatcher{all}
	}
	i := slices.IndexFunc(processes, func(p process) bool { return p.event == event })
	switch {
	case i < 0:
		all.Hooks = call
		return []hookMatcher{all}
	case processes[i].tools == "":
		return []hookMatcher{all}
	}
	return []hookMatcher{
		{Matcher: "^(" + processes[i].tools + ")$", Hooks: command}, {Matcher: "^(?!(" + processes[i].tools + ")$)", Hooks: call},
	}
}

// matcherOf joins what the event's rows match; a row for any tool matches
// everything.
func matcherOf(event string) string {
	var tools []string
	for _, r := range rows {
		if r.event == event {
			tools = append(tools, r.tools)
		}
	}
	if slices.Contains(tools, "") {
		return ""
	}
	return "^(" + strings.Join(tools, "|") + ")$"
}
