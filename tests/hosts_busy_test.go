package tests

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

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
	faults := map[string]func(u *user) model.Tool{
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
	}
	for fault, arrange := range faults {
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
