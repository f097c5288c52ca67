package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
)

// stubClaude prints what Claude Code prints, and writes a file. If its task says so it waits for a
// file go-on in its home.
const stubClaude = `#!/bin/sh
case "$1" in --version|plugin) exit;; esac
prompt=$(cat)
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","model":"m","tools":["Read"]}'
said='"message":{"id":"m1","model":"m","content":[{"type":"text","text":"at work"}],"usage":{"input_tokens":10,"output_tokens":5}}'
echo '{"type":"assistant","session_id":"11111111-2222-4333-8444-555555555555",'"$said}"
case "$prompt" in *FOREVER*) exec sleep 1000;; *WAIT*) while [ ! -e "$HOME/go-on" ]; do sleep 0.1; done;; esac
echo hello > made.txt
said='"result":"all done","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}'
echo '{"type":"result","subtype":"success","session_id":"11111111-2222-4333-8444-555555555555",'"$said}"
`

// withClaude puts the fake on the machine's PATH.
func (m machine) withClaude() machine {
	m.bin = filepath.Join(m.home, "bin")
	require.NoError(m, os.MkdirAll(m.bin, 0o700))
	require.NoError(m, os.WriteFile(filepath.Join(m.bin, "claude"), []byte(stubClaude), 0o700))
	return m
}

// worker starts a worker, and returns once it serves its queue.
func (m machine) worker(args ...string) process {
	p, _ := begin(m.T, m.command(append([]string{"worker", "--queue", "gpu"}, args...)...), syscall.SIGKILL, "^[^\n]*serving queue gpu")
	return p
}

// two returns a desk that runs a hub and flame, and a box that may serve its queue, both with a
// host.
func two(t *testing.T) (desk, box machine, h hubProcess) {
	all := machines(t, "desk", "box")
	desk, box = all[0].withClaude(), all[1].withClaude()
	h = desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	box.flame("join", desk.invite())
	desk.serve()
	for _, m := range all {
		m.reaches("nothing")
	}
	return desk, box, h
}

// reaches has the machine reach its remote by a program in place of ssh, which never answers the
// named command of git and runs all others.
func (m machine) reaches(never string) {
	gitSays(m.T, m.checkout, "remote", "set-url", "origin", "ssh://git@remote.test"+filepath.Join(filepath.Dir(m.home), "shop.git"))
	text := "for last; do :; done\ncase \"$last\" in " + never + ") echo $$ > " + m.home + "/hangs.new; mv " + m.home + "/hangs.new " + m.home +
		"/hangs; exec sleep 1000;; esac\n"
	standForSSH(m.T, m.home, text)
}

// standForSSH has the git of a home run the commands of ssh on this machine, after others.
func standForSSH(t *testing.T, home, before string) {
	ssh := filepath.Join(home, "reach")
	require.NoError(t, os.WriteFile(ssh, []byte("#!/bin/sh\n"+before+"for last; do :; done\nexec sh -c \"$last\"\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\tsshCommand = \"\\\""+ssh+"\\\"\"\n"), 0o600))
}

// away starts an agent on the queue, and returns its id.
func (m machine) away(task string, args ...string) string {
	var run record.Agent
	args = append([]string{"agents", "spawn", "builder", task, "--on", "gpu", "--json"}, args...)
	require.NoError(m, json.Unmarshal([]byte(m.flame(args...)), &run))
	return run.ID
}

// agent returns the record of an agent.
func (m machine) agent(id string) (run record.Agent) {
	require.NoError(m, json.Unmarshal([]byte(m.flame("agents", "status", id, "--json")), &run))
	return run
}

// until waits until an agent's record satisfies is.
func (m machine) until(id string, is func(record.Agent) bool) (run record.Agent) {
	require.Eventually(m, func() bool {
		run = m.agent(id)
		return is(run)
	}, hubPatience, 100*time.Millisecond, "%s stays %s", id, run.State)
	return run
}

func ended(run record.Agent) bool { return run.State.Ended() }

func active(run record.Agent) bool { return run.State == core.AgentActive }

// A queue has no worker, one that refuses the work, and one that does it, while a second agent loses
// its supervisor at home.
func TestAnAgentRunsOnAnotherMachine(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t)
	elsewhere := func() string { return desk.flame("agents", "spawn", "builder", "look", "--on", "typo") }
	desk.shows("doctor", "is connected")
	assert.Contains(t, elsewhere(), "no worker serves the queue typo now; the agent waits for one")
	strict := box.worker("--repos", "github.com/me/*")
	refused := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentError, refused.State)
	assert.Contains(t, refused.Outcome.Error, "--repos", "the refusal says why")
	assert.Empty(t, refused.Changes)
	require.NoError(t, strict.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return !strings.Contains(desk.doctor(), "queues: ") }, hubPatience, 100*time.Millisecond)

	box.worker("--max-mode", "plan", "--slots", "2")
	desk.shows("doctor", "queues: gpu by ", "(2 of 2 slots free)")
	assert.Contains(t, elsewhere(), "no worker serves the queue typo now; gpu is served by ")
	branches := gitSays(t, desk.checkout, "for-each-ref")
	id := desk.away("make the file")
	run := desk.until(id, ended)
	require.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
	assert.Equal(t, "all done", run.Outcome.Text)
	assert.Equal(t, "plan", string(run.Mode.Effective))
	assert.Equal(t, "worker", run.Mode.CappedBy)
	assert.NotEmpty(t, run.Worker)
	require.Len(t, run.Changes, 1)
	assert.Equal(t, "made.txt", run.Changes[0].Path)
	assert.NoFileExists(t, filepath.Join(desk.checkout, "made.txt"), "what it changed comes as a patch")
	assert.NoFileExists(t, filepath.Join(box.checkout, "made.txt"), "it works in a worktree of its own")
	assert.Equal(t, branches, gitSays(t, desk.checkout, "for-each-ref"), "nothing touches the user's branches")
	patch := filepath.Join(dataOf(t, desk), "agents", id, "changes.patch")
	assert.FileExists(t, patch)
	assert.FileExists(t, filepath.Join(dataOf(t, desk), "agents", id, supervise.OutputFile))
	gitSays(t, desk.checkout, "apply", "--check", patch)
	require.Eventually(t, func() bool {
		tree := desk.flame("tree")
		return strings.Contains(tree, "✓ make the file") && strings.Contains(tree, "@"+run.Worker)
	}, hubPatience, 100*time.Millisecond, "the frame belongs to the machine whose session worked in it")
	assert.Contains(t, box.flame("tree"), "✓ make the file")
	box.showsGuestsLittle(t)

	id = desk.away("WAIT for me")
	desk.until(id, talks)
	desk.shows("doctor", "(1 of 2 slots free)")
	gitSays(t, desk.checkout, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "meanwhile")
	found, err := exec.Command("pgrep", "-f", "flame(-hub)? supervise "+id+"$").Output()
	require.NoError(t, err)
	require.NoError(t, exec.Command("kill", append([]string{"-9"}, strings.Fields(string(found))...)...).Run())
	box.goesOn()
	run = desk.until(id, ended)
	assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
	assert.Equal(t, "all done", run.Outcome.Text)
	assert.FileExists(t, filepath.Join(dataOf(t, desk), "agents", id, "changes.patch"))
}

// showsGuestsLittle calls a worker's flame like the agents of other machines do.
func (m machine) showsGuestsLittle(t *testing.T) {
	var runs []record.Agent
	require.NoError(t, json.Unmarshal([]byte(m.flame("agents", "runs", "--json")), &runs))
	require.Len(t, runs, 1)
	cmd := m.command("serve")
	cmd.Env = append(cmd.Env, core.AgentVariable+"="+runs[0].ID, "FLAME_TOOLS=all")
	hello := `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}`
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + hello + `}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"flame://agent/` + runs[0].ID + `"}}
`)
	said, err := cmd.Output()
	require.NoError(t, err)
	for tool, has := range map[string]bool{
		"flame_push": true, "flame_context_preview": true, "flame_agent_result": false, "flame_get_state": false, "spawn_agent": false,
	} {
		assert.Equal(t, has, strings.Contains(string(said), `"`+tool+`"`), "%s\n%s", tool, said)
	}
	assert.Contains(t, string(said), "do not see the agents of this machine")
}

func TestAnAgentOnAnotherMachineIsCancelledOrLost(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t)
	waits := desk.away("WAIT in the queue")
	desk.flame("agents", "cancel", waits)
	assert.Equal(t, core.AgentCancelled, desk.until(waits, ended).State, "no worker has it yet")

	worker := box.worker("--slots", "2")
	first, second := desk.away("WAIT for me"), desk.away("WAIT for me too")
	for _, id := range []string{first, second} {
		run := desk.until(id, talks)
		assert.Equal(t, "at work", run.Progress.Text)
	}
	box.shows("agents runs --elsewhere", first, second, "active")
	box.shows("events --kind SubagentSpawned", first, second, "WAIT for me: @", "WAIT for me too: @")
	assert.Contains(t, box.flame("agents", "runs"), "2 agents at work for other machines")
	assert.NotContains(t, desk.flame("agents", "runs", "--elsewhere"), "WAIT", "its own are no other machine's")
	desk.flame("agents", "cancel", first)
	run := desk.until(first, ended)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Equal(t, "at work", run.Outcome.Text, "what it said is kept")

	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGKILL))
	run = desk.until(second, ended)
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Reason, "worker lost")
	box.serve() // its worker kept it connected
	box.shows("agents runs --elsewhere", "error")
	box.shows("events --kind SubagentStop", first, second, "worker lost")
	require.Eventually(t, func() bool { return !strings.Contains(box.flame("agents", "runs", "--running"), "WAIT") }, hubPatience, 100*time.Millisecond,
		"what ran there ends with its worker")
}

// TestAnAgentWhoseWorkerIsLostIsRestarted has the next worker, on the same machine, take over an
// agent.
func TestAnAgentWhoseWorkerIsLostIsRestarted(t *testing.T) {
	t.Parallel()
	desk, box, _ := two(t)
	worker := box.worker()
	require.NoError(t, os.WriteFile(filepath.Join(desk.checkout, "made.txt"), []byte("before\n"), 0o600))
	said := desk.flame("agents", "spawn", "builder", "WAIT for me", "--on", "gpu", "--retries", "1")
	assert.Contains(t, said, "1 file that is not committed")
	var runs []record.Agent
	require.NoError(t, json.Unmarshal([]byte(desk.flame("agents", "runs", "--json")), &runs))
	id := runs[0].ID
	desk.until(id, talks)
	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGKILL))
	box.worker()
	desk.until(id, func(run record.Agent) bool { return run.Attempt == 2 })
	box.goesOn()
	run := desk.until(id, ended)
	assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
	assert.Equal(t, int64(15), run.Lost.Tokens(), "what the lost one used counts")
	assert.Greater(t, run.Outcome.Tokens(), run.Lost.Tokens())
	require.NoError(t, os.Remove(filepath.Join(desk.checkout, "made.txt")))
	gitSays(t, desk.checkout, "apply", "--check", filepath.Join(dataOf(t, desk), "agents", id, "changes.patch"))
	desk.shows("tree", "✓ WAIT for me")
}

// gitSays returns git's output in a folder.
func gitSays(t *testing.T, dir string, args ...string) string {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// dataOf returns the data folder of the machine's project.
func dataOf(t *testing.T, m machine) string {
	found, err := filepath.Glob(filepath.Join(m.home, ".local", "share", "flame", "shop-*"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}
