package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
	"flame/tests/model"
)

// A screen is a terminal with a typing person.
type screen struct {
	t      *testing.T
	socket string
}

// interactive starts a command in a terminal.
func (u *user) interactive(args ...string) *screen {
	return newScreen(u.t, 150, 50, func(program string, args ...string) *exec.Cmd {
		return u.command(context.Background(), program, args...)
	}, args...)
}

// newScreen starts a command in a terminal of a size. command makes both it and the command of the
// terminal.
func newScreen(t *testing.T, columns, lines int, command func(program string, args ...string) *exec.Cmd, args ...string) *screen {
	if _, err := exec.LookPath("tmux"); err != nil {
		effort.Lacks(t, err)
	}
	term := &screen{t: t, socket: filepath.Join(t.TempDir(), "tmux")}
	start := []string{
		"-S", term.socket, "-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines),
		"sh", "-c", `trap : INT; "$@"; echo "EXIT $?"; while ! read -r line; do :; done`, "sh",
	}
	cmd := command("/usr/bin/tmux", append(start, args...)...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", term.socket, "kill-server").Run() })
	return term
}

func (s *screen) tmux(args ...string) string {
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	require.NoError(s.t, err, string(out))
	return string(out)
}

// keys types.
func (s *screen) keys(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

// shows waits until the screen shows what a pattern matches.
func (s *screen) shows(pattern string) {
	require.Eventually(s.t, func() bool { return regexp.MustCompile(pattern).MatchString(s.text()) }, patience, 200*time.Millisecond,
		"%s in:\n%s", pattern, lazily(s.text))
}

func (s *screen) text() string {
	out, _ := exec.Command("tmux", "-S", s.socket, "capture-pane", "-p").CombinedOutput()
	return string(out)
}

// lazily is a text that is made only when it is printed.
type lazily func() string

func (l lazily) String() string { return l() }

// TestClaudeInATerminalBehindAGateway types prompts, interrupts one, and rewinds.
func TestClaudeInATerminalBehindAGateway(t *testing.T) {
	t.Parallel()
	u, judge := behind(t)
	u.model.Play(model.Script{asked("main", "HELLO", think(inOrder([]model.Turn{{Text: "HELLO-DONE"}}, piece("A", 3), []model.Turn{{Text: "ONE-DONE"}},
		[]model.Turn{calls("flame_push", map[string]any{"goal": "piece B"}), calls("Bash", map[string]any{"command": "tail -f /dev/null", "description": "wait"})},
		[]model.Turn{shell("IN-B"), pop("B-SUMMARY"), {Text: "THREE-DONE"}, {Text: "FOUR-DONE"}, {Text: "FIVE-DONE"}})...)...)})
	u.settled()
	term := u.interactive(u.flame, "claude", "--model", "claude-opus-5-5", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__plugin_flame_flame")
	term.shows(`accept edits on`)
	term.say("HELLO") // meanwhile its servers connect
	term.shows("HELLO-DONE")
	term.say("FIRST")
	term.shows("ONE-DONE")
	term.say("SECOND")
	term.shows(`tail -f`)
	term.keys("Escape")
	term.shows("Interrupted")
	term.say("THIRD")
	term.shows("THREE-DONE")
	term.say("FOURTH")
	term.shows("FOUR-DONE")
	u.fits(judge, "in a terminal")
	before := len(u.newestOf("main").Messages)
	term.rewind("THIRD", 2)
	term.keys("Enter")
	term.shows("FIVE-DONE")
	u.fits(judge, "after a rewind")
	assert.Less(t, len(u.newestOf("main").Messages), before)
	assert.NotContains(t, u.newestOf("main").Everything(), "IN-A")
	term.leave()
	u.counts(judge)
}

// leave ends Claude Code, which asks for a second key press soon after the first. Keys pressed
// while it still ends a turn or redraws have another effect.
func (s *screen) leave() {
	ended := regexp.MustCompile(`EXIT \d`)
	require.Eventually(s.t, func() bool {
		if ended.MatchString(s.text()) {
			return true
		}
		s.keys("C-c")
		return false
	}, patience, 300*time.Millisecond, "%s", lazily(s.text))
}

// say types a prompt.
func (s *screen) say(text string) {
	s.keys("-l", text)
	s.shows(text)
	s.keys("Enter")
}

// rewind returns to the state before one of the newest prompts, which is then ready to be sent
// again.
func (s *screen) rewind(prompt string, back int) {
	s.keys("-l", "/rewind")
	s.shows("Restore earlier code")
	s.keys("Enter")
	s.shows(`❯ \(current\)`)
	for range back {
		s.keys("Up")
	}
	s.shows("❯ " + prompt)
	s.keys("Enter")
	s.shows("❯ 1. Restore conversation")
	s.keys("Enter")
	s.shows(`─\n❯\W` + prompt)
}

// settled returns a user who has answered Claude Code's first questions.
func (u *user) settled() {
	file := filepath.Join(u.home, ".claude.json")
	state := map[string]any{}
	if text, err := os.ReadFile(file); err == nil {
		require.NoError(u.t, json.Unmarshal(text, &state))
	}
	state["hasCompletedOnboarding"], state["theme"] = true, "dark"
	state["customApiKeyResponses"] = map[string]any{"approved": []string{"dummy"}}
	state["projects"] = map[string]any{u.project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}
	text, err := json.Marshal(state)
	require.NoError(u.t, err)
	require.NoError(u.t, os.WriteFile(file, text, 0o600))
}
