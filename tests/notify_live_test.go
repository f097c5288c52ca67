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

// recorder returns a program that takes some time, and then appends its arguments to a file, each
// in brackets.
func (u *user) recorder() (program, file string) {
	u.t.Helper()
	program = filepath.Join(u.home, "tell")
	require.NoError(u.t, os.WriteFile(program, []byte("#!/bin/sh\nsleep 1\nprintf '[%s]' \"$@\" >> \"$HOME/told\"\n"), 0o755))
	return program, filepath.Join(u.home, "told")
}

func TestTheUsersProgramReportsTheEndOfAnAgent(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	program, file := u.recorder()
	u.env = []string{"FLAME_AGENT_HOST=" + claudeCode, "FLAME_NOTIFY=" + program}
	assert.Contains(t, u.must(u.flame, "doctor"), "flame runs "+u.home)
	u.model.Play(model.Script{asked("child", "CHILDWORK", model.Turn{Text: "RESULT"})})
	id := agentID.FindString(u.must(u.flame, "agents", "spawn", "analyzer", "CHILDWORK go", "--description", "$(touch $HOME/ran)\n--help", "--wait"))
	assert.NoFileExists(t, file, "flame does not wait for the program")
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 50*time.Millisecond, "%s", lazily(u.log))
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
	program, file := u.recorder()
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
