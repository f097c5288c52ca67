package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
)

// ran runs an agent on this machine to its end.
func (m machine) ran(task string) (run record.Run) {
	m.Helper()
	require.NoError(m, json.Unmarshal([]byte(m.flame("agents", "spawn", "builder", task, "--wait", "--json")), &run))
	return run
}

func TestAMachineSharesWhatItsUserWants(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t, "FLAME_SHARE=logs,prompts")
	box.serve()
	run := desk.ran("make the file that all may see\nsecond line of the prompt")
	box.shows("agents runs --elsewhere", run.ID, "prompts,logs")
	assert.Equal(t, run.Prompt, strings.TrimSpace(box.flame("agents", "shared", "prompts", run.ID)))
	assert.Contains(t, run.Prompt, "second line")
	box.shows("tree", "make the file that all may see")
	log := filepath.Join(box.home, "log")
	box.flame("agents", "shared", "logs", run.Frame, "--to", log)
	kept, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Contains(t, string(kept), `"result":"all done"`)
	assert.Contains(t, box.fails("agents", "shared", "patches", run.ID), "FLAME_SHARE")
	assert.Contains(t, box.fails("agents", "shared", "settings", run.ID), "one of prompts, patches, logs")
	assert.Contains(t, box.fails("agents", "shared", "logs", "agent-unknown1"), "flame agents runs --elsewhere")
	for _, command := range []string{"result", "status", "cancel"} {
		assert.Contains(t, box.fails("agents", command, run.ID), "its data is there")
	}
}

func TestAMachineSharesOnlyWithConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, settings string }{
		"by default":          {},
		"a project that asks": {"FLAME_SHARE=prompts,logs,patches", `{"env":{"FLAME_SHARE":"prompts,logs,patches"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := machines(t, "desk", "box")
			desk, box := all[0].withClaude(), all[1]
			desk.hub("--listen", "127.0.0.1:0")
			desk.flame("join")
			box.flame("join", desk.invite())
			file := filepath.Join(desk.checkout, ".claude", "settings.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(c.settings+"\n"), 0o600))
			desk.serve(c.env)
			box.serve()
			first, second := desk.ran("make the file"), desk.ran("make it again")
			box.shows("agents runs --elsewhere", first.ID, second.ID) // meanwhile the machine does its due work
			for _, kind := range []string{"prompts", "logs", "patches"} {
				assert.Contains(t, box.fails("agents", "shared", kind, first.ID), "FLAME_SHARE", kind)
			}
		})
	}
}

// A hub is away for longer than a follower waits until its worker has ended an agent.
func TestAnUndeliveredCancelArrivesOnceTheHubIsBack(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	box.worker()
	id := desk.away("WAIT for me")
	desk.until(id, talks)
	h.end(t, syscall.SIGKILL)
	desk.flame("agents", "cancel", id)
	run := desk.until(id, ended)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Contains(t, run.Outcome.Error, "flame tells the worker to stop as soon as it can")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "WAIT", "its machine knows nothing of that")
	desk.hub()
	box.runsNone("WAIT")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
}
