package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli"
	"flame/flame-hub/command"
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

// TestEveryCommandThatPrintsDoesSoInJSON looks for each in the scripts.
func TestEveryCommandThatPrintsDoesSoInJSON(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	scripts := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		scripts += string(text)
	}
	for _, command := range cli.Docs(hoststest.Known(), command.All()) {
		name := strings.TrimSpace(commandWords.FindStringSubmatch(command.Use)[1])
		runs := regexp.MustCompile(`(?m)^(?:exec |exits 1 )?flame (?:\S+ )*` + name + `(?: .*)? --json\b|^flame --json ` + name + `\b`)
		_, plain := plainOnly[name]
		assert.True(t, plain || runs.MatchString(scripts), "no script runs %s with --json", name)
	}
}
