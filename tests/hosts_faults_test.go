package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// installed returns the program that hosts start.
func (u *user) installed() string { return filepath.Join(u.home, ".local/bin/flame") }

// replaceInstalled puts a script in place of the installed program. In it $FLAME is the real one.
func (u *user) replaceInstalled(script string) {
	require.NoError(u.t, os.Remove(u.installed()))
	text := "#!/bin/sh\nFLAME='" + u.flame + "'\n" + script + "\n"
	require.NoError(u.t, os.WriteFile(u.installed(), []byte(text), 0o755))
}

// The plugin of OpenCode is tried so beside its code.
func TestClaudeContinuesWhateverFlameDoes(t *testing.T) {
	t.Parallel()
	for fault, arrange := range map[string]func(u *user){
		"missing": func(u *user) { require.NoError(u.t, os.Remove(u.installed())) },
		"hanging": func(u *user) { u.replaceInstalled(`case $1 in hook) exec sleep 100;; *) exec "$FLAME" "$@";; esac`) },
		"flooding": func(u *user) {
			u.replaceInstalled(`case $1 in hook) exec head -c 30000000 /dev/zero;; *) exec "$FLAME" "$@";; esac`)
		},
		"failing": func(u *user) { u.replaceInstalled(`echo nonsense; echo more >&2; exit 3`) },
		"locked":  func(u *user) { u.lockStore(10 * time.Second) },
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			u := ready(t, claudeCode)
			u.must(u.flame, "push", "something to lock")
			arrange(u)
			u.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{{Text: "THE-ANSWER"}}}})
			assert.Contains(t, u.ask(claudeCode, "A question"), "THE-ANSWER")
			if fault == "locked" {
				require.Eventually(t, func() bool {
					tree, _, _ := u.run(u.flame, "tree") // it fails while the lock is held
					return strings.Contains(tree, "A question")
				}, patience, 200*time.Millisecond, "the prompt is taken in later")
				t.Log(u.must(u.flame, "tree"), u.log())
			}
		})
	}
}

// lockStore has another process hold the store's lock for a while, like a writer that hangs.
func (u *user) lockStore(for_ time.Duration) {
	files, err := filepath.Glob(filepath.Join(u.data(), "*lock*"))
	require.NoError(u.t, err)
	require.Len(u.t, files, 1, "the lock's file")
	file, err := os.OpenFile(files[0], os.O_RDWR, 0)
	require.NoError(u.t, err)
	require.NoError(u.t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	var once sync.Once
	release := func() { once.Do(func() { _ = file.Close() }) }
	time.AfterFunc(for_, release)
	u.t.Cleanup(release)
}

// trio is the work of an agent that starts three subagents at once; the first of them also uses a
// tool itself.
func trio(inFirst model.Tool) model.Script {
	var tasks []model.Tool
	script := model.Script{}
	for _, word := range []string{"ONE", "TWO", "THREE"} {
		tasks = append(tasks, task("do "+word, word+"WORK go"))
		turns := []model.Turn{{Text: word + "-RESULT"}}
		if word == "ONE" && inFirst.Name != "" {
			turns = append([]model.Turn{{Tools: []model.Tool{inFirst}}}, turns...)
		}
		script = append(script, asked(word, word+"WORK", turns...))
	}
	return append(script, asked("main", "MAINWORK", model.Turn{Tools: tasks}, model.Turn{Text: "MAIN-RESULT"}))
}

// isTrio checks that the tree holds the work of all three.
func (u *user) isTrio() {
	u.t.Helper()
	u.completes("do ONE", "do TWO", "do THREE")
	u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	root := u.frame("MAINWORK please")
	assert.Empty(u.t, root.ParentSessionID)
	for _, word := range []string{"ONE", "TWO", "THREE"} {
		child := u.frame("do " + word)
		assert.Equal(u.t, root.SessionID, child.ParentSessionID, word)
		assert.Equal(u.t, "completed", child.Status, word)
		assert.Equal(u.t, word+"-RESULT", child.CompactionSummary, word)
	}
	assert.Len(u.t, u.state().Frames, 4)
}

func TestOpenCodeLosesNothingWhereFlameFails(t *testing.T) {
	t.Parallel()
	for fault, arrange := range map[string]func(u *user) model.Tool{
		"killed in the middle": func(u *user) model.Tool {
			ours := filepath.Base(filepath.Dir(filepath.Dir(u.home)))
			return model.Tool{Name: "bash", Input: map[string]any{
				"command": "pkill -9 -f '" + ours + ".*opencode --strea[m]' && echo KILLED-IT", "description": "kill flame",
			}}
		},
		"locked out": func(u *user) model.Tool {
			u.must(u.flame, "push", "something to lock")
			u.must(u.flame, "pop", "completed", "--frame", u.frame("something to lock").SessionID)
			u.lockStore(5 * time.Second)
			return model.Tool{}
		},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			u := ready(t, openCode)
			tool := arrange(u)
			u.model.Play(trio(tool))
			u.converse("MAINWORK please")
			if tool.Name != "" {
				requests := u.model.By("ONE")
				require.NotEmpty(t, requests)
				require.Contains(t, requests[len(requests)-1].Everything(), "KILLED-IT")
			}
			require.Eventually(t, func() bool { return !strings.Contains(u.must(u.flame, "tree"), "in_progress do ") }, patience, 200*time.Millisecond)
			if fault == "locked out" {
				assert.Len(t, u.state().Frames, 5)
				return
			}
			u.isTrio()
		})
	}
}

// A host that is stopped in the middle of its work does not report that itself.
func TestASessionEndsWithItsStoppedHost(t *testing.T) {
	t.Parallel()
	signals := map[string]os.Signal{"Ctrl-C": os.Interrupt, "kill -9": os.Kill}
	for name, signal := range signals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := ready(t, openCode)
			waiting := model.Tool{Name: "bash", Input: map[string]any{"command": "sleep 60", "description": "wait"}}
			u.model.Play(model.Script{asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{waiting}}, model.Turn{Text: "MAIN-RESULT"})})
			cmd := u.command(t.Context(), "opencode", "run", "--format", "json", "MAINWORK please")
			cmd.SysProcAttr.Setpgid = true // as a shell does with its jobs
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return strings.Contains(u.must(u.flame, "tree"), "MAINWORK please") }, patience, 200*time.Millisecond)
			require.NoError(t, syscall.Kill(-cmd.Process.Pid, signal.(syscall.Signal)))
			_ = cmd.Wait() // it was stopped
			require.Eventually(t, func() bool { return u.frame("MAINWORK please").Status == "blocked" }, patience, 200*time.Millisecond)
		})
	}
}

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
	for name, before := range map[string]string{
		"PreToolUse of Agent": "main 1", "PostToolUse of Write": "main 2", "Stop": "main 3", "SubagentStop": "one 2",
	} {
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
