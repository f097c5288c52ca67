package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// Prompts of a session in which a push is due with the second, and a pop at the end of its turn.
var duePrompts = []string{
	"MAINWORK: add a --json flag to the list command of the inventory tool",
	"Now something else: the nightly backup script on the server fills the disk. " +
		"Write a rotation for it in scripts/backup.sh that keeps seven archives, with a test in scripts/backup_test.sh",
	"great, thanks",
}

// suggestsWhatIsDue has ask send duePrompts in one session, and checks the text beside each; write
// and run are the host's tools.
func (u *user) suggestsWhatIsDue(write, run func(what string) model.Tool, ask func(prompts []string)) {
	u.t.Helper()
	u.write("scripts/backup_test.sh", "echo ok: seven archives left; echo all 4 tests passed\n")
	u.model.Play(model.Script{asked("main", "MAINWORK",
		model.Turn{Text: "The flag is in cmd/list.go. I have not run the tests yet."},
		calls("flame_push", map[string]any{
			"goal": "Rotate the backups in scripts/backup.sh", "successCriteria": "scripts/backup.sh keeps seven archives; scripts/backup_test.sh passes",
		}),
		model.Turn{Tools: []model.Tool{write("scripts/backup.sh")}},
		model.Turn{Tools: []model.Tool{run("bash scripts/backup_test.sh")}},
		model.Turn{Text: "Fixed. scripts/backup.sh keeps seven archives and all 4 tests of scripts/backup_test.sh pass."},
		model.Turn{Text: "Gladly."},
	)})
	ask(duePrompts)
	u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"))
	requests := u.model.By("main")
	require.Len(u.t, requests, 6)
	told := func(i int, what string) int { return strings.Count(requests[i].Everything(), what) }
	assert.Equal(u.t, 0, told(0, "[FLAME SUGGESTION"), "nothing is due with the first prompt")
	assert.Equal(u.t, 1, told(1, "[FLAME SUGGESTION"), "a push beside the prompt for other work")
	assert.Equal(u.t, 1, told(4, "[FLAME SUGGESTION"), "nothing more while the turn goes on")
	assert.Equal(u.t, 2, told(5, "[FLAME SUGGESTION"), "a pop beside the next prompt")
	assert.Equal(u.t, 1, told(5, `popping the current frame as "completed"`))
}

func TestClaudeGetsSuggestions(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	write, run := u.claudeTools()
	u.suggestsWhatIsDue(write, run, u.talkAllowed)
}

func TestOpenCodeGetsSuggestions(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.must(u.flame, "setup", openCode)
	write, run := u.openCodeTools()
	u.suggestsWhatIsDue(write, run, u.serve().prompts)
}

// claudeTools returns the calls by which Claude Code's model writes a file and runs a command.
func (u *user) claudeTools() (write, run func(what string) model.Tool) {
	return func(file string) model.Tool {
			return model.Tool{Name: "Write", Input: map[string]any{"file_path": u.project + "/" + file, "content": "true\n"}}
		}, func(command string) model.Tool {
			return model.Tool{Name: "Bash", Input: map[string]any{"command": command, "description": "test"}}
		}
}

// openCodeTools is claudeTools for OpenCode.
func (u *user) openCodeTools() (write, run func(what string) model.Tool) {
	return func(file string) model.Tool {
			return model.Tool{Name: "write", Input: map[string]any{"filePath": u.project + "/" + file, "content": "true\n"}}
		}, func(command string) model.Tool {
			return model.Tool{Name: "bash", Input: map[string]any{"command": command, "description": "test"}}
		}
}

// talkAllowed is talk with permission to write files and run commands.
func (u *user) talkAllowed(prompts []string) {
	u.t.Helper()
	u.talk([]string{"--session-id", talkID, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__plugin_flame_flame"}, prompts...)
}

// prompts sends prompts in one new conversation, each after the answer to the previous one.
func (s served) prompts(prompts []string) {
	s.t.Helper()
	session := s.session()
	for _, prompt := range prompts {
		s.message(session, prompt)
	}
}
