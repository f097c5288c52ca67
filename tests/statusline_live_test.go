package tests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// TestClaudeShowsTheGoalInItsStatusLine sets the status line, works in a terminal, and
// removes it again.
func TestClaudeShowsTheGoalInItsStatusLine(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	file := filepath.Join(u.home, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("{\n  \"spinnerTipsEnabled\": false\n}\n"), 0o600))
	assert.Contains(t, u.must(u.flame, "setup", "claude-code", "--statusline", "--dry-run"), "statusLine")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "statusLine")

	u.must(u.flame, "setup", "claude-code", "--statusline")
	push := calls("flame_push", map[string]any{"goal": "Mend the roof"})
	u.model.Play(model.Script{asked("main", "HELLO", model.Turn{Text: "READY"}, push, model.Turn{Text: "PUSHED"})})
	u.settled()
	term := u.interactive("claude", "--allowedTools", "mcp__plugin_flame_flame")
	term.shows(`❯`)
	term.say("HELLO roofers") // meanwhile its servers connect
	term.shows("READY")
	term.shows(`(?m)^\s*→ HELLO roofers`)
	term.say("BEGIN")
	term.shows("PUSHED")
	term.shows(`(?m)^\s*→ Mend the roof`)
	term.leave()

	u.must(u.flame, "setup", "claude-code", "--statusline", "--remove")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "statusLine")
	assert.Contains(t, string(text), "spinnerTipsEnabled")
}
