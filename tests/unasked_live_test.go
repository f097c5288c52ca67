package tests

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

const (
	rotation = "Rotate the backups in scripts/backup.sh"
	kept     = "scripts/backup.sh keeps seven archives; scripts/backup_test.sh passes"
)

// autoPrompts are the prompts of a short day at level auto.
var autoPrompts = []string{
	"MAINWORK: add a --json flag to the list command of the inventory tool",
	"continue",
	"Now rotate the backups: write scripts/backup.sh so that it keeps seven archives",
	"then fix it",
	"great, thanks",
	"Now something else: set up the mail server on the new host with DKIM and SPF",
	"great, thanks",
	"Now something else: write a guide about forgotten passwords for the customers of the web shop",
}

var endedFrame = regexp.MustCompile(`<frame id="([\w-]+)" status="completed"[^>]* by="autonomy"`)

// doesWhatIsDue has ask send autoPrompts in one session at level auto, and checks flame's actions
// and texts. The first piece of other work is planned, with criteria that prove its end. Flame
// begins the second itself, and so can only suggest its end. The user takes the third back at
// once.
func (u *user) doesWhatIsDue(client string, ask func(prompts []string)) {
	u.t.Helper()
	write := func(file string) model.Turn { return writes(client, u.project+"/"+file, "true\n") }
	run := func(command string) model.Turn {
		shell := map[string]string{claudeCode: "Bash", openCode: "bash"}[client]
		return calls(shell, map[string]any{"command": command, "description": "test"})
	}
	u.write("scripts/backup_test.sh", "test -e fixed || { echo FAIL: eight archives left; exit 1; }; echo ok: seven archives left; echo all 4 tests passed\n")
	u.write("scripts/mail_test.sh", "echo all 2 tests passed\n")
	u.model.Play(model.Script{asked("main", "MAINWORK",
		calls("flame_plan_children", map[string]any{"children": []map[string]any{{"goal": rotation, "successCriteria": kept}}}),
		model.Turn{Text: "I will begin with cmd/list.go."},
		model.Turn{Text: "The flag is in cmd/list.go. I have not run the tests yet."},
		write("scripts/backup.sh"), // 3
		run("bash scripts/backup_test.sh"),
		model.Turn{Text: "The test fails: one archive too many is left. I look at the loop next."},
		write("fixed"), // 6
		run("bash scripts/backup_test.sh"),
		model.Turn{Text: "Fixed. scripts/backup.sh keeps seven archives and all 4 tests of scripts/backup_test.sh pass."},
		model.Turn{From: func(r model.Request) model.Turn { // 9
			ended := endedFrame.FindStringSubmatch(r.Everything())
			if ended == nil {
				return model.Turn{Text: "Nothing was told of an end."}
			}
			return calls("flame_activate", map[string]any{"sessionID": ended[1]})
		}},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "Seven archives are kept."}),
		model.Turn{Text: "Gladly."},
		write("scripts/mail.sh"), // 12
		run("bash scripts/mail_test.sh"),
		model.Turn{Text: "Done. The mail server is set up in scripts/mail.sh and all 2 tests of scripts/mail_test.sh pass."},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "Mail is set up."}), // 15
		model.Turn{Text: "Gladly."},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "No frame is needed for this."}), // 17
		model.Turn{Text: "The guide is there."},
	)})
	ask(autoPrompts)
	u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"))
	requests := u.model.By("main")
	require.Len(u.t, requests, 19)
	told := func(i int, what string) int { return strings.Count(requests[i].Everything(), what) }
	const began, ended = `status="in_progress" relation="current" by="autonomy"`, `status="completed" relation="child" by="autonomy"`
	assert.Zero(u.t, told(2, `by="autonomy"`), "nothing is due before")
	assert.Equal(u.t, 1, told(3, began), "the planned frame is begun")
	assert.Zero(u.t, told(8, ended), "not before its end is proven")
	assert.Equal(u.t, 1, told(9, ended), "the next prompt reports its end")
	assert.Zero(u.t, told(11, "[FLAME SUGGESTION"), "flame does what is due")
	assert.Equal(u.t, 2, told(13, began), "a frame of flame's own is begun, and told with the first result at the latest: a busy host does not wait")
	assert.Equal(u.t, 1, told(15, `popping the current frame as "completed"`), "and its end suggested: no criteria prove it")
	assert.Equal(u.t, 1, told(15, ended))
	assert.Equal(u.t, 3, told(17, began))
	assert.Equal(u.t, 1, told(18, "[FLAME SUGGESTION"), "nothing else was suggested")
}

func TestClaudePushesAndPopsAtLevelAuto(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.env = append(u.env, "FLAME_AUTONOMY_LEVEL=auto")
	u.must(u.flame, "setup", claudeCode)
	u.doesWhatIsDue(claudeCode, func(prompts []string) {
		u.talk([]string{"--session-id", talkID, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__plugin_flame_flame"}, prompts...)
	})
}

func TestOpenCodePushesAndPopsAtLevelAuto(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.env = append(u.env, "FLAME_AUTONOMY_LEVEL=auto")
	u.must(u.flame, "setup", openCode)
	u.doesWhatIsDue(openCode, u.serve().prompts)
}

// prompts sends prompts in one new conversation, each after the answer to the previous one.
func (s served) prompts(prompts []string) {
	session := s.session()
	for _, prompt := range prompts {
		s.message(session, prompt)
	}
}

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

// A listHost says how a host's model writes its to-do list, and how a person asks for work. Claude Code has
// two list tools, offers either only if its environment says so, and puts both behind a search for tools,
// which a scripted model does not make.
type listHost struct {
	env  []string
	list func(first, second string) model.Turn // statuses of "Add parser" and "Add tests"
	work func(u *user) (session string)
	fork func(u *user, session string) // which says "and now"; nil: the host has no forks
}

// whole returns the call of a tool that writes a whole list.
func whole(tool, list, text string, more map[string]any) func(first, second string) model.Turn {
	return func(first, second string) model.Turn {
		items := []map[string]any{{text: "Add parser", "status": first}, {text: "Add tests", "status": second}}
		for _, item := range items {
			for name, value := range more {
				item[name] = value
			}
		}
		return calls(tool, map[string]any{list: items})
	}
}

// withTodoTools has Claude Code offer the tools of its lists to a scripted model, which searches for none;
// newer models have them only on request.
func withTodoTools() []string {
	return []string{"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}
}

// withTodoWrite has it offer TodoWrite, which is there only without the newer tasks.
func withTodoWrite() []string { return append(withTodoTools(), "CLAUDE_CODE_ENABLE_TASKS=0") }

func claudeWork(u *user) (session string) {
	return claudeSays(u, "MAINWORK please", "--session-id", talkID)
}

func claudeSays(u *user, prompt string, args ...string) (session string) {
	u.must("claude", append(append([]string{"-p", "--output-format", "json", "--allowedTools", "TaskCreate,TaskUpdate,TodoWrite"}, args...), "--", prompt)...)
	return talkID
}

func TestListsOfHostsBecomeFrames(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]listHost{
		claudeCode: {
			env:  withTodoWrite(),
			list: whole("TodoWrite", "todos", "content", map[string]any{"activeForm": "Adding"}), work: claudeWork,
			fork: func(u *user, session string) { claudeSays(u, "and now", "--resume", session, "--fork-session") },
		},
		openCode: {
			list: whole("todowrite", "todos", "content", map[string]any{"priority": "high"}),
			work: func(u *user) string { return u.converse("MAINWORK please") },
			fork: func(u *user, session string) { u.must("opencode", "run", "--session", session, "--fork", "and now") },
		},
		codex: {
			list: whole("update_plan", "plan", "step", nil),
			work: func(u *user) string { return u.exec("-c", "tools.update_plan.enabled=true", "MAINWORK please") },
			fork: func(u *user, session string) {
				u.exec("fork", "-c", "tools.update_plan.enabled=true", session, "and now")
			},
		},
		gemini: {
			list: whole("write_todos", "todos", "description", nil),
			work: func(u *user) string { return u.gemini("MAINWORK please", "--approval-mode", "yolo") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, name)
			u.env = append(u.env, host.env...)
			done := host.list("completed", "in_progress")
			done.Text = "The parser reads it all."
			u.model.Play(model.Script{asked("main", "MAINWORK", host.list("in_progress", "pending"), done, model.Turn{Text: "MAIN-RESULT"}, model.Turn{Text: "FORKED"})})
			session := host.work(u)
			u.isListed()
			if name != claudeCode { // a scripted model is done before Claude Code has written its words to the log
				assert.Equal(t, "The parser reads it all.", u.frame("Add parser").CompactionSummary)
			}
			if host.fork != nil {
				host.fork(u, session)
				requests := u.model.By("main")
				u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
				told := requests[len(requests)-1].Everything()
				assert.Contains(t, told, "your own is empty")
				assert.Contains(t, told, "Add tests (blocked)")
			}
		})
	}
}

// isListed checks the frames of a list whose first item is done and whose second one is begun.
func (u *user) isListed() {
	u.t.Helper()
	tree := u.must(u.flame, "tree")
	u.t.Log(tree, u.must(u.flame, "events"), u.log())
	root := u.frame("MAINWORK please")
	for goal, status := range map[string]string{"Add parser": "completed", "Add tests": "blocked"} {
		frame := u.frame(goal)
		assert.Equal(u.t, root.SessionID, frame.ParentSessionID)
		assert.Equal(u.t, status, frame.Status)
	}
	assert.Len(u.t, u.state().Frames, 3)
	for _, r := range u.model.Requests() {
		assert.NotContains(u.t, r.Everything(), "<flame-", "nothing is said about it")
	}
}

func TestTasksOfClaudeCodeBecomeFrames(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.env = append(u.env, withTodoTools()...)
	change := func(id, status string) model.Tool {
		return model.Tool{Name: "TaskUpdate", Input: map[string]any{"taskId": id, "status": status}}
	}
	create := func(subject string) model.Tool {
		return model.Tool{Name: "TaskCreate", Input: map[string]any{"subject": subject, "description": "so"}}
	}
	u.model.Play(model.Script{asked("main", "MAINWORK",
		model.Turn{Tools: []model.Tool{create("Add parser")}},
		model.Turn{Tools: []model.Tool{create("Add tests"), change("1", "in_progress")}},
		model.Turn{Text: "The parser reads it all.", Tools: []model.Tool{change("1", "completed"), change("2", "in_progress")}},
		model.Turn{Text: "MAIN-RESULT"})})
	claudeWork(u)
	u.isListed()
	tasks, err := filepath.Glob(filepath.Join(u.home, ".claude", "tasks", "*", "*.json"))
	require.NoError(t, err)
	assert.True(t, len(tasks) == 2 && strings.HasSuffix(tasks[0], "1.json"), "the host's own list is as it was: %v", tasks)
}

// TestOpenItemsAreKnownAfterACompaction compacts sessions whose models never call flame, and whose users never
// mention it.
func TestOpenItemsAreKnownAfterACompaction(t *testing.T) {
	t.Parallel()
	large := func(turn model.Turn, input int) model.Turn {
		turn.Usage = model.Usage{Input: input, Output: 5}
		return turn
	}
	for name, host := range map[string]struct {
		env    []string
		first  model.Turn // writes the list
		before []model.Turn
		work   func(u *user)
	}{
		claudeCode: {
			env:    withTodoWrite(),
			first:  whole("TodoWrite", "todos", "content", map[string]any{"activeForm": "Adding"})("in_progress", "pending"),
			before: []model.Turn{{Text: "one"}},
			work: func(u *user) {
				claudeWork(u)
				u.must("claude", "-p", "--resume", talkID, "/compact")
				claudeSays(u, "and now", "--resume", talkID)
			},
		},
		openCode: {
			first:  whole("todowrite", "todos", "content", map[string]any{"priority": "high"})("in_progress", "pending"),
			before: []model.Turn{{Text: "one"}},
			work: func(u *user) {
				serve := u.serve()
				session := serve.session()
				serve.message(session, "MAINWORK please")
				serve.post("/session/"+session+"/summarize", map[string]any{"providerID": "anthropic", "modelID": "claude-opus-5-5"})
				serve.message(session, "and now")
			},
		},
		codex: {
			first: large(whole("update_plan", "plan", "step", nil)("in_progress", "pending"), 60_000),
			work: func(u *user) {
				u.exec("-c", "tools.update_plan.enabled=true", "-c", "model_auto_compact_token_limit=50000", "MAINWORK please")
			},
		},
		gemini: {
			first: whole("write_todos", "todos", "description", nil)("in_progress", "pending"),
			before: []model.Turn{
				{Text: "one"},
				large(calls("run_shell_command", map[string]any{"command": "ls", "description": "x"}), 900_000),
				calls("run_shell_command", map[string]any{"command": "ls", "description": "x"}),
			},
			work: func(u *user) {
				session := u.gemini("MAINWORK please", "--approval-mode", "yolo")
				u.gemini("and now", "--approval-mode", "yolo", "--resume", session)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, name)
			u.env = append(u.env, host.env...)
			summary := model.Turn{Text: "<summary>WHAT-WAS-DONE</summary>"}
			if name == gemini {
				summary.Text = "<state_snapshot>WHAT-WAS-DONE</state_snapshot>"
			}
			u.model.Play(model.Script{
				{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{summary, summary}},
				{Name: "main", Kind: model.Work, Turns: append(append([]model.Turn{host.first}, host.before...), model.Turn{Text: "two"}, model.Turn{Text: "three"})},
			})
			host.work(u)
			u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
			requests := u.model.By("main")
			told := requests[len(requests)-1].Everything()
			assert.Contains(t, told, "WHAT-WAS-DONE")
			assert.Regexp(t, `Add parser \((in progress|blocked)\)`, told)
			assert.Contains(t, told, "Add tests (planned)")
		})
	}
}
