package tests

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli"
	"flame/tests/hoststest"
)

// plainOnly are the commands without JSON output of their own, and why.
var plainOnly = map[string]string{
	"completion":    "a script for a shell",
	"serve":         "the protocol's messages",
	"hook":          "what the host expects",
	"claude":        "what Claude Code prints",
	"codex":         "what Codex CLI prints",
	"gemini":        "what Gemini CLI prints",
	"gateway":       "runs until it is ended",
	"web":           "runs until it is ended",
	"agents attach": "opens a host at the terminal",
	"agents grant":  "only for a person at a terminal",
	"hub":           "runs until it is ended",
	"worker":        "runs until it is ended",
	"hub invite":    "needs a hub; see TestMachinesJoinAndLeaveAHub",
	"hub machines":  "likewise",
	"join":          "likewise",
	"leave":         "likewise",
}

// commandWords matches the name of a command, before its arguments.
var commandWords = regexp.MustCompile(`^flame ((?:[a-z]+ ?)+?)(?: [^a-z].*| [a-z]+\|.*)?$`)

// TestEveryCommandThatPrintsDoesSoInJSON runs each command, in an order in which each has
// something to print.
func TestEveryCommandThatPrintsDoesSoInJSON(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	logs := d.claude()
	printed := d.flame("", "agents", "spawn", "analyzer", "Look", "--wait")
	first := agentID.FindString(printed)
	second := agentID.FindString(d.flame("", "agents", "spawn", "analyzer", "Look again", "--wait"))
	frame := regexp.MustCompile(`frame-[a-z0-9]{8}`).FindString(d.flame("", "push", "Something"))
	plan := regexp.MustCompile(`plan-[a-z0-9]{8}`).FindString(d.flame("", "plan", "Later"))
	require.NotEmpty(t, plan)
	lines := []string{
		"setup --dry-run", "doctor",
		"tree", "status", "show " + frame, "context", "search Some", "events", "log abc", "continue", "sessions", "stats", "economy " + logs, "report",
		"push More", "plan Most", "goal Better", "artifact a.go", "decision so", "invalidate " + plan + " no", "activate " + frame,
		"pop completed --force", "push Again", "pop completed Done",
		"agents spawn analyzer Look", "agents runs", "agents status " + first, "agents wait " + first, "agents result " + first, "agents cancel " + first,
		"agents converge " + first + " " + second + " --strategy merge", "agents review", "agents graph", "agents show",
		"agents show " + first, "agents doctor", "agents handoff " + first, "agents graph " + logs,
		"where", "projects", "export " + t.TempDir(), "import " + logs, "prune", "prune --agents --dry-run", "off", "on", "config", "version",
		"call flame_tree", "help",
	}
	for _, command := range cli.Docs(hoststest.Known()) {
		name := strings.TrimSpace(commandWords.FindStringSubmatch(command.Use)[1])
		found := false
		for _, line := range lines {
			found = found || line == name || strings.HasPrefix(line, name+" ")
		}
		if _, plain := plainOnly[name]; !plain {
			assert.True(t, found, "%s is not run here", name)
		}
	}
	for _, line := range lines {
		if line == "help" {
			continue
		}
		for answer := range strings.Lines(oneDocument(line, d.tries(append(strings.Fields(line), "--json")...))) {
			assert.True(t, json.Valid([]byte(answer)), "flame %s --json: %s", line, answer)
		}
	}
}

// oneDocument returns the output of a command as lines of JSON: only events has several.
func oneDocument(line, printed string) string {
	if line == "events" {
		return printed
	}
	return strings.ReplaceAll(printed, "\n", " ")
}
