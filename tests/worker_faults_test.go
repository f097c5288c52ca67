package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/flame-hub/queue"
	"flame/tests/model"
)

// talks reports whether an agent runs and has produced text.
func talks(run record.Agent) bool { return active(run) && run.Progress.Text != "" }

// goesOn lets the waiting agents of the machine continue.
func (m machine) goesOn() {
	require.NoError(m, os.WriteFile(filepath.Join(m.home, "go-on"), nil, 0o600))
}

// runsNone waits until no agent with this task runs on the machine.
func (m machine) runsNone(task string) {
	require.Eventually(m, func() bool { return !strings.Contains(m.flame("agents", "runs", "--running"), task) }, hubPatience, 100*time.Millisecond)
}

// A worker that is stopped for longer than others wait for it has lost its agents. It learns that
// when it continues.
func TestAWorkerEndsItsAgentsAfterALongSleep(t *testing.T) {
	t.Parallel()
	assert.Less(t, queue.AckWait+queue.Heartbeat/2+queue.Heartbeat, 10*time.Second, "that a worker is lost is noticed in 10 seconds")
	desk, box, _ := two(t)
	worker := box.worker()
	id := desk.away("WAIT for me")
	desk.until(id, talks)
	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGSTOP))
	slept := time.Now()
	run := desk.until(id, ended)
	t.Logf("noticed after %v", time.Since(slept))
	assert.Equal(t, core.AgentError, run.State)
	assert.Contains(t, run.Outcome.Reason, "worker lost")
	assert.Equal(t, "at work", run.Outcome.Text, "what it said is kept")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "WAIT", "it goes on beside its worker")

	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGCONT))
	box.runsNone("WAIT")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
	leavesNothing(t, box.home)
	box.goesOn()
	again := desk.until(desk.away("make the file"), ended)
	assert.Equal(t, core.AgentCompleted, again.State, "the worker goes on: %+v", again.Outcome)
	still := desk.agent(id)
	assert.Equal(t, []any{run.State, run.Outcome}, []any{still.State, still.Outcome}, "it ended once")
}

// The hub is killed and comes back later, and so do the machines' connections. It is away for longer
// than a follower waits until its worker has ended an agent.
func TestAgentsEndDespiteAKilledHub(t *testing.T) {
	t.Parallel()
	desk, box, h := two(t)
	worker := box.worker("--slots", "3")
	first, second, unwanted := desk.away("WAIT for me"), desk.away("WAIT for me too"), desk.away("FOREVER")
	for _, id := range []string{first, second, unwanted} {
		desk.until(id, talks)
	}
	h.end(t, syscall.SIGKILL)
	desk.flame("agents", "cancel", unwanted)
	cancelled := desk.until(unwanted, ended)
	assert.Equal(t, core.AgentCancelled, cancelled.State)
	assert.Contains(t, cancelled.Outcome.Error, "flame tells the worker to stop as soon as it can")
	assert.Contains(t, box.flame("agents", "runs", "--running"), "FOREVER", "its machine knows nothing of that")
	box.goesOn()
	box.runsNone("WAIT")
	third := desk.away("make the file") // a request that is made meanwhile
	assert.False(t, ended(desk.agent(first)), "nothing is known of it yet")
	desk.hub()
	for _, id := range []string{first, second, third} {
		run := desk.until(id, ended)
		assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
		assert.Equal(t, "all done", run.Outcome.Text)
		assert.FileExists(t, filepath.Join(dataOf(t, desk), "agents", id, "changes.patch"))
	}
	box.runsNone("FOREVER")
	assert.Contains(t, box.flame("agents", "runs"), "cancelled")
	assert.Equal(t, 3, strings.Count(box.flame("agents", "runs"), "completed"), "none was run twice")
	assert.Regexp(t, `the hub is away.*\n.*the hub is back\n`, worker.said, "with no message in between, however often it tried")
	leavesNothing(t, box.home)
}

// hangs waits until git hangs, and returns its process.
func (m machine) hangs() (pid int) {
	var told []byte
	require.Eventually(m, func() (hangs bool) {
		var err error
		told, err = os.ReadFile(filepath.Join(m.home, "hangs"))
		return err == nil
	}, hubPatience, 20*time.Millisecond)
	pid, err := strconv.Atoi(strings.TrimSpace(string(told)))
	require.NoError(m, err)
	return pid
}

// hasEnded reports whether a process has ended, even if its parent has not waited for it.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
}

func TestAgentsEndDespiteAHangingGit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		never string // what the worker's remote never answers
		stop  func(desk machine, id string, worker process)
		state core.AgentState
	}{
		"a cancelled agent before its start": {
			"git-upload-pack*", func(desk machine, id string, _ process) { desk.flame("agents", "cancel", id) }, core.AgentCancelled,
		},
		"a completed agent with a stopped worker": {
			"git-receive-pack*", func(_ machine, _ string, worker process) {
				require.NoError(t, worker.cmd.Process.Signal(syscall.SIGTERM))
			}, core.AgentCompleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk, box, _ := two(t)
			box.reaches(tt.never)
			worker := box.worker()
			id := desk.away("make the file")
			git := box.hangs()
			tt.stop(desk, id, worker)
			began := time.Now()
			run := desk.until(id, ended)
			t.Logf("ended after %v", time.Since(began))
			assert.Equal(t, tt.state, run.State, "%+v", run.Outcome)
			require.Eventually(t, func() bool { return hasEnded(git) }, hubPatience, 20*time.Millisecond, "git goes on")
			patch := filepath.Join(dataOf(t, desk), "agents", id, "changes.patch")
			if tt.state == core.AgentCompleted {
				require.Len(t, run.Changes, 1)
				gitSays(t, desk.checkout, "apply", "--check", patch)
			} else {
				assert.NoFileExists(t, patch)
				assert.NotContains(t, box.flame("agents", "runs"), "make the file", "nothing is left of it")
			}
		})
	}
}

// joinedUsers returns two users of this host whose projects are clones of one repository with
// these files, and who have joined the hub of the first.
func joinedUsers(t *testing.T, host string, files map[string]string) (desk, box *user, h hubProcess) {
	desk, box = newUser(t, host), newUser(t, host)
	server := filepath.Dir(natsServer(t))
	box.model.Close()
	box.model = desk.model
	for name, text := range files {
		desk.write(name, text)
	}
	git := func(args ...string) {
		out, err := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("-C", desk.project, "add", "-A")
	git("-C", desk.project, "commit", "-q", "-m", "one")
	require.NoError(t, os.RemoveAll(box.project))
	remote := filepath.Join(t.TempDir(), "project.git")
	git("clone", "-q", "--bare", desk.project, remote)
	git("-C", desk.project, "remote", "add", "origin", remote)
	git("clone", "-q", remote, box.project)
	for _, u := range []*user{desk, box} {
		git("-C", u.project, "remote", "set-url", "origin", "ssh://git@remote.test"+remote)
		standForSSH(t, u.home, "")
		u.path = server + ":" + u.path
		u.must(u.flame, "setup", host)
	}
	h = desk.hub("--listen", "127.0.0.1:0")
	desk.must(desk.flame, "join")
	found := joinLine.FindStringSubmatch(desk.must(desk.flame, "hub", "invite"))
	require.NotNil(t, found)
	box.must(box.flame, "join", found[1])
	return desk, box, h
}

// hub starts a hub of the user's.
func (u *user) hub(args ...string) hubProcess {
	return startHub(u.t, u.command(context.Background(), u.flame, append([]string{"hub", "--temporary"}, args...)...))
}

// A sharedFrame has the fields of a frame in which machines have to agree.
type sharedFrame struct {
	ID, Status, Goal, Summary string
	Decisions, Artifacts      []string
	Usage                     map[string]float64
	Children                  []sharedFrame
}

// shared returns the tree that the user's machine shows.
func (u *user) shared() (roots []sharedFrame) {
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "tree", "--json")), &roots))
	return roots
}

// agree waits until two machines show the same tree.
func agree(t *testing.T, one, other *user) {
	for until := time.Now().Add(hubPatience); !assert.ObjectsAreEqual(one.shared(), other.shared()); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(until) {
			require.Equal(t, one.shared(), other.shared())
		}
	}
}

// TestASessionHasAgentsWorkOnAnotherMachine is a day with two machines: a session has two agents
// work on the other machine, watches them, loses the hub while they work, and converges their
// results.
func TestASessionHasAgentsWorkOnAnotherMachine(t *testing.T) {
	t.Parallel()
	sprung := filepath.Join(t.TempDir(), "sprung")
	hook := fmt.Sprintf(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"pwd >> '%s'"}]}]}}`, sprung)
	desk, box, h := joinedUsers(t, claudeCode, map[string]string{".claude/settings.json": hook})
	keepOpen(t, desk.command(context.Background(), desk.flame, "serve")) // like another session that stays open
	names := []string{"ONE", "TWO"}
	askedAll := func(turns int) bool { // the number of requests of each agent's model
		return !slices.ContainsFunc(names, func(n string) bool { return len(desk.model.By(n)) < turns })
	}
	away := make(chan struct{})
	t.Cleanup(func() {
		select {
		case <-away:
		default:
			close(away)
		}
	})
	script := model.Script{}
	var spawned []model.Tool
	for _, n := range names {
		script = append(script, asked(n, n+"WORK",
			calls("flame_add_decision", map[string]any{"decision": n + " decides"}),
			model.Turn{From: func(model.Request) model.Turn {
				<-away
				return calls("Write", map[string]any{"file_path": n + ".txt", "content": n})
			}},
			model.Turn{Text: n + "-RESULT"}))
		spawned = append(spawned, spawns("builder", "do "+n, n+"WORK go", map[string]any{"on": "gpu"}))
	}
	var ids []string
	turns := append([]model.Turn{{Tools: spawned}, {From: func(r model.Request) model.Turn {
		ids = agentsIn(r)
		assert.Eventually(t, func() bool { return askedAll(2) }, hubPatience, 50*time.Millisecond, "they work on the other machine")
		return calls("flame_agent_wait", map[string]any{"subagent_id": ids[0], "timeout": 1})
	}}, {From: func(model.Request) model.Turn {
		h.end(t, syscall.SIGTERM)
		close(away)
		assert.Eventually(t, func() bool { return askedAll(3) }, hubPatience, 50*time.Millisecond, "they work on without the hub")
		time.Sleep(awayTime)
		return calls("flame_agent_wait", map[string]any{"subagent_id": ids[0], "timeout": 1})
	}}, {From: func(model.Request) model.Turn {
		desk.hub()
		assert.Eventually(t, func() bool {
			tree, _, err := desk.run(desk.flame, "tree")
			return err == nil && strings.Count(tree, "✓ do ") == len(names)
		}, hubPatience, 100*time.Millisecond, "what they did meanwhile comes")
		return model.Turn{Tools: []model.Tool{{Name: "ToolSearch", Input: map[string]any{"query": "select:mcp__plugin_flame_flame__flame_more"}}}}
	}}}, waitsForAll(len(names))...)
	turns = append(turns, model.Turn{From: func(model.Request) model.Turn {
		return calls("flame_converge", map[string]any{"subagent_ids": ids, "strategy": "merge"})
	}}, model.Turn{Text: "MAIN-RESULT"})
	desk.model.Play(append(script, asked("main", "MAINWORK", turns...)))
	begin(t, box.command(context.Background(), box.flame, "worker", "--queue", "gpu", "--slots", "2"), syscall.SIGKILL, "serving queue gpu")
	desk.must("claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "mcp__plugin_flame_flame", "--", "MAINWORK please")
	t.Log(desk.must(desk.flame, "tree"), desk.must(desk.flame, "agents", "runs"), box.must(box.flame, "agents", "runs"))
	main := desk.model.By("main")
	all, converged := main[len(main)-1].Everything(), main[len(main)-1].LastResult()
	t.Log(converged)
	for _, n := range names {
		assert.Contains(t, converged, n+"-RESULT")
		assert.Contains(t, all, n+" decides", "its decisions come with the tree")
		assert.Equal(t, "completed", desk.frame("do "+n).Status)
		assert.Contains(t, desk.frame("do "+n).Artifacts, n+".txt", "no path of the worker's travels")
		assert.Len(t, desk.model.By(n), 3, "nothing was done twice")
	}
	agree(t, desk, box)
	require.Len(t, box.shared(), 1)
	assert.Len(t, box.shared()[0].Children, len(names))
	patches, err := filepath.Glob(filepath.Join(desk.data(), "agents", "*", "changes.patch"))
	require.NoError(t, err)
	assert.Len(t, patches, len(names))
	ran, err := os.ReadFile(sprung)
	require.NoError(t, err, "the desk's own session runs the project's hooks, which its user trusts")
	folders := slices.Compact(strings.Split(strings.TrimSpace(string(ran)), "\n"))
	assert.Equal(t, []string{desk.project}, folders, "a repository of another machine runs nothing of its own")
	box.leavesNothing()
}

// awayTime is the shortest time for which a hub is away while agents work.
const awayTime = 3 * time.Second
