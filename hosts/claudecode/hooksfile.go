package claudecode

import (
	"slices"
	"strings"
)

// hookSeconds is how long Claude Code waits for a hook that hangs; flame itself
// gives up earlier.
const hookSeconds = 5

// A hookCommand is a program that Claude Code starts for an event, without a
// shell in between.
type hookCommand struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout int      `json:"timeout"`
}

// A hookMatcher says for which tools hooks run.
type hookMatcher struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

// hooksFile returns the plugin's hooks.json: one entry per event, for the tools
// of all its rows.
func hooksFile() ([]byte, error) {
	entries := map[string][]hookMatcher{}
	for _, r := range rows {
		entries[r.event] = []hookMatcher{{
			Matcher: matcherOf(r.event),
			Hooks:   []hookCommand{{Type: "command", Command: "flame", Args: []string{"hook", Name}, Timeout: hookSeconds}},
		}}
	}
	return encode(map[string]any{"description": "Keeps flame's frames in step with the session", "hooks": entries})
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
