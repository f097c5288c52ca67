package claudecode

import (
	"slices"
	"strings"

	"github.com/samber/lo"
)

// hookSeconds is how long Claude Code waits for a hook that hangs; flame itself
// gives up earlier.
const hookSeconds = 5

// A hookEntry is what Claude Code does for an event: it starts a program, without a shell
// in between, or calls a tool of an MCP server.
type hookEntry struct {
	Type    string         `json:"type"`
	Command string         `json:"command,omitempty"`
	Args    []string       `json:"args,omitempty"`
	Server  string         `json:"server,omitempty"`
	Tool    string         `json:"tool,omitempty"`
	Input   map[string]any `json:"input,omitempty"`
	Timeout int            `json:"timeout"`
}

// A hookMatcher says for which tools, or which causes of an event, hooks run.
type hookMatcher struct {
	Matcher string      `json:"matcher,omitempty"`
	Hooks   []hookEntry `json:"hooks"`
}

// hooksFile returns the plugin's hooks.json: for each event one entry for the tools of all
// its rows. Where hooks may call the server, calling says so, and rows that stay alone have
// an entry of their own.
func hooksFile(calling bool) ([]byte, error) {
	entries := map[string][]hookMatcher{}
	for _, r := range rows {
		entries[r.event] = matchersOf(r.event, calling)
	}
	return encode(map[string]any{"description": "Keeps flame's frames in step with the session", "hooks": entries})
}

func matchersOf(event string, calling bool) []hookMatcher {
	command := hookEntry{Type: "command", Command: "flame", Args: []string{"hook", Name}, Timeout: hookSeconds}
	all := lo.Filter(rows, func(r row, _ int) bool { return r.event == event })
	called, started := lo.FilterReject(all, func(r row, _ int) bool { return calling && r.alone == "" })
	switch {
	case len(called) == 0:
		return []hookMatcher{{toolsOf(all), []hookEntry{command}}}
	case len(started) == 0:
		return callsFor(called)
	}
	tools := toolsOf(started)
	return []hookMatcher{{tools, []hookEntry{command}}, {"^(?!" + strings.TrimPrefix(tools, "^") + ")", []hookEntry{call(callInput())}}}
}

// callsFor returns the entries of rows that all call the server: one of their own for the
// tools that write files.
func callsFor(called []row) (matchers []hookMatcher) {
	files, others := lo.FilterReject(called, func(r row, _ int) bool { return r.tools == fileTools })
	if len(others) > 0 {
		matchers = append(matchers, hookMatcher{toolsOf(others), []hookEntry{call(callInput())}})
	}
	if len(files) > 0 {
		matchers = append(matchers, hookMatcher{toolsOf(files), []hookEntry{call(fileInput())}})
	}
	return matchers
}

func call(input map[string]any) hookEntry {
	return hookEntry{Type: "mcp_tool", Server: pluginServer, Tool: callTool, Input: input, Timeout: hookSeconds}
}

// toolsOf joins what rows match; a row for any tool matches everything.
func toolsOf(rows []row) string {
	tools := lo.Map(rows, func(r row, _ int) string { return r.tools })
	if slices.Contains(tools, "") {
		return ""
	}
	return "^(" + strings.Join(tools, "|") + ")$"
}
