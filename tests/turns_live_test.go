package tests

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/tests/model"
)

// TestPromptsBecomeFramesUnasked has users who never mention flame, with models that never call it: after
// five prompts the tree tells what was asked and what came of it. The host's tools are those of its shell.
func TestPromptsBecomeFramesUnasked(t *testing.T) {
	t.Parallel()
	hosts := map[string]struct {
		run  func(command string) model.Turn
		asks func(u *user, prompts []string)
	}{
		claudeCode: {
			func(command string) model.Turn {
				return calls("Bash", map[string]any{"command": command, "description": "x"})
			},
			func(u *user, prompts []string) {
				u.talk([]string{"--session-id", talkID, "--allowedTools", "Bash"}, prompts...)
			},
		},
		openCode: {
			func(command string) model.Turn {
				return calls("bash", map[string]any{"command": command, "description": "x"})
			},
			func(u *user, prompts []string) { u.converse(prompts...) },
		},
		codex: {
			func(command string) model.Turn { return calls("exec_command", map[string]any{"cmd": command}) },
			func(u *user, prompts []string) {
				session := u.exec(prompts[0])
				for _, prompt := range prompts[1:] {
					u.exec("resume", session, prompt)
				}
			},
		},
		gemini: {
			func(command string) model.Turn {
				return calls("run_shell_command", map[string]any{"command": command, "description": "x"})
			},
			func(u *user, prompts []string) {
				session := u.gemini(prompts[0], "--approval-mode", "yolo")
				for _, prompt := range prompts[1:] {
					u.gemini(prompt, "--approval-mode", "yolo", "--resume", session)
				}
			},
		},
	}
	prompts := []string{"MAINWORK add a login", "why is it so?", "ten characters at least", "go on", "a page for the account"}
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, name)
			u.model.Play(model.Script{asked("main", "MAINWORK",
				host.run("echo 1 > login.txt"), model.Turn{Text: "The login is there."},
				model.Turn{Text: "It is short."},
				host.run("echo 2 > login.txt"), model.Turn{Text: "Half of it checks."},
				host.run("echo 3 > login.txt"), model.Turn{Text: "All of it checks."},
				host.run("echo 4 > page.txt"), model.Turn{Text: "The page is there."},
			)})
			host.asks(u, prompts)
			tree := u.must(u.flame, "tree")
			u.t.Log(tree, u.must(u.flame, "events"), u.log())
			frame := regexp.MustCompile(`\[frame-\w+\]`)
			assert.Regexp(t, `^. .*
├── ✓ MAINWORK add a login \[F\]: The login is there\.
├── ✓ ten characters at least \[F\]: All of it checks\.
└── ✓ a page for the account \[F\]: The page is there\.
`, frame.ReplaceAllString(tree, "[F]"))
			for _, r := range u.model.Requests() {
				assert.NotContains(u.t, r.Everything(), "<flame-", "nothing is said about it")
			}
			assert.FileExists(t, filepath.Join(u.project, "page.txt"))
		})
	}
}
