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
	but   string // causes of the event, separated by |, for which it calls the server nevertheless
	why   string
}

// processes lists these events. All of it was observed with version 2.1.328.
var processes = []process{
	{"SessionStart", "compact|clear", "Its servers are not connected yet."},
	{"SessionEnd", "clear", "It has stopped its servers before."},
	{"SubagentStart", "", "It drops the event while a server is starting."},
	{"PostToolUseFailure", "", "It drops the event while a server is starting."},
	{"StopFailure", "", "It drops the event while a server is starting."},
	{"PostCompact", "", "It drops the event while a server is starting."},
}

// hooksFile returns the plugin's hooks.json: for each event one entry for the tools of all
// its rows, or two where calling tells apart what starts it.
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
	i := slices.IndexFunc(processes, func(p process) bool { return p.event == event })
	switch {
	case !calling || i >= 0 && processes[i].but == "":
		return []hookMatcher{{Matcher: matcherOf(event), Hooks: command}}
	case i >= 0:
		return []hookMatcher{
			{Matcher: "^(?!(" + processes[i].but + ")$)", Hooks: command}, {Matcher: "^(" + processes[i].but + ")$", Hooks: call},
		}
	}
	return []hookMatcher{{Matcher: matcherOf(event), Hooks: call}}
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
