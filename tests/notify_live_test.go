package tests

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// recorder returns a program that waits until the test lets it go on, and then appends its
// arguments to a file, each in brackets.
func (u *user) recorder() (program, file string, goOn func()) {
	u.t.Helper()
	program = filepath.Join(u.home, "tell")
	text := "#!/bin/sh\nuntil [ -e \"$HOME/go-on\" ]; do sleep 0.1; done\nprintf '[%s]' \"$@\" >> \"$HOME/told\"\n"
	require.NoError(u.t, os.WriteFile(program, []byte(text), 0o755))
	return program, filepath.Join(u.home, "told"), func() {
		u.t.Helper()
		require.NoError(u.t, os.WriteFile(filepath.Join(u.home, "go-on"), nil, 0o644))
	}
}

func TestTheUsersProgramReportsTheEndOfAnAgent(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	program, file, goOn := u.recorder()
	u.env = []string{"FLAME_AGENT_HOST=" + claudeCode, "FLAME_NOTIFY=" + program}
	assert.Contains(t, u.must(u.flame, "doctor"), "flame runs "+u.home)
	u.model.Play(model.Script{asked("child", "CHILDWORK", model.Turn{Text: "RESULT"})})
	id := agentID.FindString(u.must(u.flame, "agents", "spawn", "analyzer", "CHILDWORK go", "--description", "$(touch $HOME/ran)\n--help", "--wait"))
	assert.NoFileExists(t, file, "flame does not wait for the program")
	goOn()
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, patience, 50*time.Millisecond, "%s", lazily(u.log))
	u.leavesNothing() // the supervisor has ended, and flame notified once
	told, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "[agent-ended][Agent analyzer ended, completed: $(touch $HOME/ran) --help]["+id+"]", string(told))
	assert.NoFileExists(t, filepath.Join(u.home, "ran"))
}

func TestARepositorysNotifyProgramNeverRuns(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	program, file, goOn := u.recorder()
	goOn()
	u.write(".claude/settings.json", `{"env": {"FLAME_NOTIFY": "`+program+`"}, "permissions": {"allow": ["`+spawnRule+`"]}}`)
	u.model.Play(model.Script{
		asked("child", "CHILDWORK", model.Turn{Text: "RESULT"}),
		asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{spawns("analyzer", "look", "CHILDWORK go", nil)}}, waitsFor(), model.Turn{Text: "MAIN-RESULT"}),
	})
	u.settled() // Claude Code uses its settings
	u.must("claude", "-p", "--output-format", "json", "--allowedTools", spawnRule, "--", "MAINWORK please")
	assert.Equal(t, "completed", u.frame("look").Status)
	u.leavesNothing()
	assert.NoFileExists(t, file)
	assert.Contains(t, u.log(), "flame does not use FLAME_NOTIFY", "it was set there, or this would test nothing")
	u.env = []string{"FLAME_NOTIFY=" + program}
	assert.Contains(t, u.must(u.flame, "doctor"), "settings.json, which came with the project, sets FLAME_NOTIFY")
}
