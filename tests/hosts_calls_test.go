package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// watched makes the user's installed flame record each event for which it is started, and the
// process of each server.
func (u *user) watched() {
	installed := filepath.Join(u.home, ".local", "bin", "flame")
	script := fmt.Sprintf(`#!/bin/sh
case $1 in
hook) event=$(cat)
	echo "$event" | grep -o '"hook_event_name":"[A-Za-z]*"' | cut -d'"' -f4 >> '%[1]s/started'
	printf '%%s' "$event" | exec '%[2]s' "$@" ;;
serve) echo $$ >> '%[1]s/servers'; exec '%[2]s' "$@" ;;
*) exec '%[2]s' "$@" ;;
esac
`, u.bin, u.flame)
	require.NoError(u.t, os.Remove(installed))
	require.NoError(u.t, os.WriteFile(installed, []byte(script), 0o755))
}

// lines returns the lines of a file that watched makes flame write.
func (u *user) lines(name string) []string {
	text, err := os.ReadFile(filepath.Join(u.bin, name))
	require.NoError(u.t, err)
	return strings.Fields(string(text))
}

// signal sends a signal to the newest server.
func (u *user) signal(s syscall.Signal) {
	servers := u.lines("servers")
	pid, err := strconv.Atoi(servers[len(servers)-1])
	require.NoError(u.t, err)
	require.NoError(u.t, syscall.Kill(pid, s))
}

// A day of Claude Code with subagents starts processes only for the events that still use
// commands.
func TestClaudeStartsNoProcessForItsServersEvents(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.watched()
	u.model.Play(append(family(func(description, prompt string) model.Tool { return agent(description, prompt, false) }),
		asked("day", "DAYWORK",
			calls("flame_push", map[string]any{"goal": parserGoal}), writes(claudeCode, filepath.Join(u.project, "parser.go"), "package parser\n"),
			calls("Bash", map[string]any{"command": "false", "description": "fail"}),
			calls("flame_pop", map[string]any{"status": "completed", "summary": "parsed"}), model.Turn{Text: "first"}, model.Turn{Text: "second"})))
	u.must("claude", "-p", "--output-format", "json", "MAINWORK please")
	u.isFamily(false)
	u.talk([]string{"--session-id", talkID, "--permission-mode", "bypassPermissions"}, "DAYWORK", "PROMPT-2")
	u.completes("DAYWORK") // by the last event
	started := u.lines("started")
	slices.Sort(started)
	assert.Equal(t, []string{"SessionEnd", "SessionEnd", "SessionStart", "SessionStart", "SubagentStart", "SubagentStart", "SubagentStart"}, started)
	frame := u.frame(parserGoal)
	assert.Equal(t, "completed", frame.Status)
	assert.Equal(t, []string{"parser.go"}, frame.Artifacts)
}

// The server is killed while it has an event: the test stops it before the client calls it, and
// kills it a moment later.
func TestClaudeLosesNothingWithAKilledServer(t *testing.T) {
	t.Parallel()
	const file = "parser.go"
	spawn := model.Turn{Tools: []model.Tool{agent("do one", "ONEWORK go", false)}}
	// The turns of the session and of its subagent after which the events come.
	tests := map[string]string{
		"PreToolUse of Agent": "main 1", "PostToolUse of Write": "main 2", "Stop": "main 3", "SubagentStop": "one 2",
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, claudeCode)
			u.watched()
			at := func(turn string, then model.Turn) model.Turn {
				return model.Turn{From: func(model.Request) model.Turn {
					if turn == before {
						u.signal(syscall.SIGSTOP)
						time.AfterFunc(500*time.Millisecond, func() { u.signal(syscall.SIGKILL) })
					}
					return then
				}}
			}
			u.model.Play(model.Script{
				asked("one", "ONEWORK", calls("flame_add_decision", map[string]any{"decision": "one decides"}), at("one 2", model.Turn{Text: "ONE-RESULT"})),
				asked("main", "MAINWORK", at("main 1", spawn), at("main 2", writes(claudeCode, filepath.Join(u.project, file), "package parser\n")),
					at("main 3", model.Turn{Text: "MAIN-RESULT"})),
			})
			u.talk([]string{"--session-id", talkID, "--permission-mode", "bypassPermissions"}, "MAINWORK please")
			require.Eventually(t, func() bool {
				u.must(u.flame, "tree")
				root := u.frame("MAINWORK please")
				return root.Status == "completed" && slices.Contains(root.Artifacts, file)
			}, patience, 200*time.Millisecond, "%s\n%s", u.must(u.flame, "tree"), u.log())
			if name != "Stop" { // no call follows that one
				assert.Len(t, u.lines("servers"), 2, "the client started another")
			}
			assert.Equal(t, "MAIN-RESULT", u.frame("MAINWORK please").CompactionSummary)
			one := u.frame("do one")
			assert.Equal(t, "completed", one.Status)
			assert.Equal(t, "ONE-RESULT", one.CompactionSummary)
			assert.Equal(t, []string{"one decides"}, one.Decisions)
		})
	}
}
