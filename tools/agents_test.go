package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/converge"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/render"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

// TestMain lets the test binary also be an agent's supervisor, and the host that it
// runs in.
func TestMain(m *testing.M) {
	switch args := append(os.Args[1:], "", "", ""); {
	case args[0] == "supervise" && args[1] == "--detach":
		process, err := supervise.StartKeeper(newAgents(sharedData(), nil).SupervisorSpec(args[2], "."))
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(process)
		}
		exit(err)
	case args[0] == "supervise" && args[1] == "--keep":
		exit(supervise.RunKeeper(newAgents(sharedData(), nil).SupervisorSpec(args[2], ".")))
	case args[0] == "supervise":
		exit(superviseAgent(args[1]))
	case args[0] == "host":
		act(args[1])
	default:
		// With the race detector each process would stay for a second after its end.
		exit(os.Setenv("GORACE", "atexit_sleep_ms=0"))
		os.Exit(m.Run())
	}
}

// exit ends the process with status 1 where there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func superviseAgent(id string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	a := newAgents(sharedData(), store.Open(sharedData(), store.Options{}))
	return a.Supervise(ctx, id, slog.New(slog.DiscardHandler))
}

// sharedData is the data folder of the project that a supervisor works for.
func sharedData() string { return filepath.Join(os.Getenv("FLAME_PROJECT_DIR"), ".data") }

// act is a host: it says what the first paragraph of its prompt says, and hangs or
// writes that into a file where it tells it to.
func act(session string) {
	prompt, _ := io.ReadAll(os.Stdin)
	task, _, _ := strings.Cut(string(prompt), "\n\n")
	line := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	line(`{"type":"system","subtype":"init","session_id":%q}`, session)
	line(`{"type":"assistant","session_id":%q,"message":{"id":"m","usage":{"input_tokens":7},"content":[`+
		`{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"login.go","new_string":%q}}]}}`, session, task)
	line(`{"type":"assistant","session_id":%q,"message":{"id":"n","content":[{"type":"text","text":"half of it"}]}}`, session)
	switch {
	case strings.HasPrefix(task, "hang"):
		time.Sleep(time.Minute)
	case strings.HasPrefix(task, "write"):
		exit(os.WriteFile("login.go", []byte(task), 0o600))
	case strings.HasPrefix(task, "long"):
		task = strings.Repeat("0123456789", 7_000)
	}
	answer, _ := json.Marshal(task)
	line(`{"type":"result","subtype":"success","session_id":%q,"result":%s,"usage":{"input_tokens":10,"output_tokens":5}}`, session, answer)
}

// aHost runs the test binary.
type aHost struct{ hosts.Setup }

func (aHost) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	return hosts.Launch{Command: []string{os.Args[0], "host", c.Session}, Stdin: c.Prompt}, nil
}

func newAgents(data string, kept project.Store) *agents.Agents {
	return &agents.Agents{Setup: plan.Setup{
		Project: &project.Project{
			Store: kept, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), NewID: project.NewID,
			Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
			Now: func() core.Millis { return core.MillisOf(time.Now()) },
		},
		Data: data, Dir: filepath.Dir(data), Bounds: plan.DefaultBounds(),
		Hosts: hoststest.Reached(map[string]hosts.Client{"claude-code": aHost{}}), Machine: hoststest.With("claude"),
		Catalog: func(string) definition.Catalog { return definition.Load(hoststest.Known(), nil) },
	}, Root: filepath.Dir(data), Program: os.Args[0], Start: supervise.Start}
}

// A delegator is a client that starts agents.
type delegator struct {
	*conversation
	agents *agents.Agents
}

func delegate(t *testing.T) delegator {
	data := filepath.Join(t.TempDir(), ".data")
	kept := projecttest.Open(t, data, store.Options{LongLived: true})
	d := delegator{agents: newAgents(data, kept)}
	t.Cleanup(d.end)
	d.conversation = converseWith(t, d.agents)
	return d
}

// end ends processes that a test left running.
func (d delegator) end() {
	runs, _ := d.agents.Running(context.Background())
	for _, run := range runs {
		_, _ = d.agents.Cancel(context.Background(), project.Caller{}, run.ID)
		supervise.KillLeftovers(run.ID, "")
	}
}

// spawn starts an agent and returns its id with the answer.
func (d delegator) spawn(prompt, more string) (id, text string) {
	result, text := d.call("spawn_agent", fmt.Sprintf(`{"subagent_type": "builder", "description": "Build the form", "prompt": %q%s}`, prompt, more))
	require.False(d.t, result.IsError, text)
	id, _, _ = strings.Cut(text, " ")
	return id, text
}

// tell calls a tool on an agent and returns its answer.
func (d delegator) tell(tool, id, more string) string {
	result, text := d.call(tool, fmt.Sprintf(`{"subagent_id": %q%s}`, id, more))
	require.False(d.t, result.IsError, text)
	return text
}

func TestASpawnDescribesTheAgent(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	begun := time.Now()
	id, text := d.spawn("hang", `, "timeout": 90, "budget_usd": 2, "permission_mode": "bypassPermissions", "tools": ["Read", "Edit"]`)
	assert.Less(t, time.Since(begun), 45*time.Second, "the agent takes a minute")
	for _, says := range []string{
		id + ` (initializing) builder: "Build the form"`, "Frame: frame-", "depth 1, in claude-code",
		"Mode: default (bypassPermissions was requested; the parent allows no more)",
		"To allow more: a person runs `flame agents grant bypassPermissions --agent builder --reason WHY` at a terminal",
		"Tools: Read, Edit", "Limits: 1 m 30 s in total", "$2.00", filepath.Join(d.agents.Folder(id), "stdout.jsonl"),
		"do not do its work", "flame_agent_status", "flame_agent_wait", "flame_agent_result",
		"It ends with your session; in a one-shot run, wait for it.",
	} {
		assert.Contains(t, text, says)
	}
	assert.NotContains(t, text, "Ended")
	d.agents.KeepAfterSession = true
	_, text = d.spawn("hang", "")
	assert.NotContains(t, text, "It ends with your session")
}

func TestASpawnWithoutTimeLimitInModePlan(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	_, text := d.spawn("hang", `, "timeout": 0, "permission_mode": "plan", "tools": ["Read", "Edit", "Bash(git *)", "Write"]`)
	assert.Contains(t, text, "Limits: 10 m without a sign of life\n")
	assert.Contains(t, text, "Tools: Read (the mode plan only reads)\n")
	assert.NotContains(t, text, "To allow more")
	result, text := d.call("spawn_agent", `{"prompt": "hang", "subagent_type": "tester"}`)
	require.False(t, result.IsError, text)
	assert.Regexp(t, `Tools: .*Read.*Bash\(go test \*\).* \(the mode plan reads, and runs these commands\)`, text)
	result, text = d.call("spawn_agent", `{"prompt": "hang", "permission_mode": "plan", "definition": {"description": "d", "prompt": "p"}}`)
	require.False(t, result.IsError, text)
	assert.Regexp(t, `Tools: all of the host's; not .*Edit.*Write.*Bash.* \(the mode plan only reads\)`, text)
}

func TestASpawnMayWait(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	_, text := d.spawn("all of it\nConfidence: 0.8", `, "background": false`)
	for _, says := range []string{"(completed)", "Ended: done", "Files changed:\n- login.go", "Confidence: 0.8", "Usage: 10 tokens in, 5 out",
		"1 tool call, cost not known, 0 retries", "\nall of it\n"} {
		assert.Contains(t, text, says)
	}
	assert.NotContains(t, text, "Not complete")

	result, text := d.call("spawn_agent", `{"prompt": "all of it", "definition": {"description": "d", "prompt": "p", "background": false}}`)
	require.False(t, result.IsError, text)
	assert.Contains(t, text, "(completed)", "as its definition says")
}

func TestWaitingForAnAgent(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("hang", "")
	begun := time.Now()
	text := d.tell("flame_agent_wait", id, `, "timeout": 0.3`)
	assert.Less(t, time.Since(begun), 30*time.Second, "no longer than it was told to: else for most of a minute")
	assert.Contains(t, text, "It is still running; call flame_agent_wait again")

	done, _ := d.spawn("all of it", "")
	text = d.tell("flame_agent_wait", strings.TrimPrefix(done, "agent-")[:6], `, "timeout": 1e12`)
	assert.Contains(t, text, "(completed)", "the beginning of an id will do")
	assert.Contains(t, text, "\nall of it\n")
	result, text := d.call("flame_frame_details", fmt.Sprintf(`{"frameID": %q}`, frameOf(text)))
	require.False(t, result.IsError, text)
	assert.Contains(t, text, "completed", "its frame has ended when the wait is over")
}

// frameOf finds the frame that an answer names.
func frameOf(text string) string {
	_, after, _ := strings.Cut(text, "Frame: ")
	frame, _, _ := strings.Cut(after, "\n")
	return strings.TrimSuffix(frame, ",")
}

func TestAWaitReportsProgressToItsClient(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("hang", "")
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = "flame_agent_wait", json.RawMessage(fmt.Sprintf(`{"subagent_id": %q, "timeout": 0.5}`, id))
	request.Params.Meta = &mcp.Meta{ProgressToken: "token"}
	_, err := d.CallTool(d.ctx, request)
	require.NoError(t, err)
	for {
		select {
		case note := <-d.told:
			if note.Method != "notifications/progress" {
				continue
			}
			assert.Equal(t, "token", note.Params.AdditionalFields["progressToken"])
			assert.Contains(t, note.Params.AdditionalFields["message"], id)
			return
		case <-time.After(time.Minute):
			require.Fail(t, "no progress was told")
		}
	}
}

func TestTheStateAndResultOfAnAgent(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("hang", "")
	require.Eventually(t, func() bool {
		return strings.Contains(d.tell("flame_agent_status", id, ""), "1 tool call, 7 tokens")
	}, time.Minute, 50*time.Millisecond)
	text := d.tell("flame_agent_status", id, "")
	for _, says := range []string{"(active)", "last Edit", "Session: ", "Mode: default", "Limits: 5 m in total"} {
		assert.Contains(t, text, says)
	}
	text = d.tell("flame_agent_result", id, "")
	assert.Contains(t, text, "half of it")
	assert.Contains(t, text, "Incomplete. Everything it printed is in "+d.agents.Folder(id))

	text = d.tell("flame_agent_cancel", id, "")
	assert.Contains(t, text, "Told to stop:\n- "+id)
	text = d.tell("flame_agent_wait", id, "")
	for _, says := range []string{"(cancelled)", "Ended: cancelled by s", "half of it", "Files changed:\n- login.go"} {
		assert.Contains(t, text, says)
	}
	assert.Equal(t, id+" had already ended: cancelled.", d.tell("flame_agent_cancel", id, ""))
}

func TestTheEndOfAnAgentShowsTheStatusOfTheFrameAbove(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("hang", "")
	d.tell("flame_handoff", id, `, "on_failure": "escalate"`)
	d.tell("flame_handoff", id, `, "on_failure": "abort"`)
	d.tell("flame_agent_cancel", id, "")
	assert.Regexp(t, `The frame above, frame-\w+ .*, is failed\.`, d.tell("flame_agent_wait", id, ""))
}

// TestASettledConflictSaysWhereTheFileIs is about what a user took for done: the
// winner of a conflict was named, and the other's file lay on the disk.
func TestASettledConflictSaysWhereTheFileIs(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "one"}} {
		out, err := exec.Command("git", append([]string{"-C", d.agents.Dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	apart, _ := d.spawn("write apart", `, "background": false, "isolation": "worktree"`)
	first, _ := d.spawn("write first", `, "background": false`)
	second, _ := d.spawn("write second", `, "background": false`)
	merged := func(with string, more string) string {
		result, text := d.call("flame_converge", fmt.Sprintf(`{"subagent_ids": [%q, %q], "strategy": "merge"%s}`, first, with, more))
		require.False(t, result.IsError, text)
		return text
	}
	open := merged(second, "")
	assert.Contains(t, open, "to review. Nothing is lost")
	assert.NotContains(t, open, "Flame writes no file", "nothing is settled")
	assert.Regexp(t, `- agent-\w+ \(.+\): \+`, open, "a side is what it changed, as a diff")

	latest := `, "conflict_resolution": "auto_accept_latest"`
	run, err := d.agents.Find(d.ctx, second)
	require.NoError(t, err)
	says := fmt.Sprintf("Flame writes no file: login.go on the disk is as %s left it, which came last. "+
		"What %[1]s did: it is in its log, `flame log %s` and `flame agents result %[1]s`.\n", second, run.Frame)
	assert.Contains(t, merged(second, latest), says)
	assert.Contains(t, merged(second, latest+`, "output_format": "markdown"`), says)

	text := merged(apart, latest)
	assert.Contains(t, text, "Flame writes no file: login.go on the disk is as "+first+" left it. What "+first+" did: it is in its log")
	_, text = d.call("flame_converge", fmt.Sprintf(
		`{"subagent_ids": [%q, %q], "strategy": "merge", "conflict_resolution": "prefer_higher_confidence"}`, first, apart))
	assert.Contains(t, text, "needs a confidence")
	c, err := d.agents.Converge(d.ctx, project.Caller{Session: "s"}, []string{first, apart}, converge.Options{Strategy: converge.StrategyMerge})
	require.NoError(t, err)
	choices := map[string]string{}
	for _, conflict := range c.Result.Conflicts {
		choices[conflict.ID] = apart
	}
	c, err = d.agents.Convergences().Review(d.ctx, c.ID, choices)
	require.NoError(t, err)
	text, next, err := render.Converged(d.ctx, d.agents, c, 0)
	require.NoError(t, err)
	assert.Empty(t, next)
	patch := filepath.Join(d.agents.Folder(apart), changes.PatchFile)
	assert.FileExists(t, patch)
	assert.Contains(t, text, "on the disk is as "+first+" left it. What "+apart+" did: `git apply "+patch+"`.\n")
}

func TestALongAnswerComesInParts(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("long", "")
	text := d.tell("flame_agent_wait", id, "")
	assert.Contains(t, text, "… 10000 characters more: flame_agent_result with offset 60000")
	text = d.tell("flame_agent_result", id, `, "offset": 69990`)
	assert.True(t, strings.HasSuffix(strings.TrimSpace(text), "\n\n0123456789"), text)
	assert.Contains(t, d.tell("flame_agent_result", id, `, "offset": 80000`), "(the answer ends at 70000)")
}

func TestTheListOfAgents(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	_, text := d.call("flame_agent_list", `{}`)
	assert.Equal(t, "No agents; spawn_agent starts one.", text)
	running, _ := d.spawn("hang", "")
	ended, _ := d.spawn("all of it", `, "background": false`)
	child, err := d.agents.Spawn(d.ctx, project.Caller{Host: "claude-code", Agent: running}, plan.Request{Type: "builder", Prompt: "hang"})
	require.NoError(t, err)
	listed := func(args string) string {
		_, text := d.call("flame_agent_list", args)
		return text
	}
	for _, id := range []string{running, ended, child.ID} {
		assert.Contains(t, listed(`{}`), "- "+id)
		assert.Equal(t, id == ended, strings.Contains(listed(`{"filter": "ended"}`), id))
		assert.Equal(t, id != ended, strings.Contains(listed(`{"filter": "running"}`), "- "+id))
		assert.Equal(t, id == child.ID, strings.Contains(listed(fmt.Sprintf(`{"subagent_id": %q}`, running)), "- "+id))
	}
	assert.Contains(t, listed(`{}`), "started by "+running)
	require.NoError(t, d.agents.Project.Store.Update(d.ctx, func(tx project.Tx) error {
		return record.StoreStates(tx, "desk-1", json.RawMessage(`[{"id":"agent-far","type":"scout","description":"look","state":"active"}]`), d.agents.Project.Now())
	}))
	assert.Contains(t, listed(`{}`), "- agent-far (scout) active @desk-1: look")
	assert.Contains(t, listed(`{"filter": "running"}`), "agent-far")
	assert.NotContains(t, listed(`{"filter": "ended"}`), "agent-far")
}

func TestAgentToolsRefuseInvalidCalls(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	for name, tt := range map[string]struct{ tool, args, says string }{
		"the state of an unknown agent":         {"flame_agent_status", `{"subagent_id": "agent-nothing0"}`, `no agent "agent-nothing0"`},
		"to wait for an unknown agent":          {"flame_agent_wait", `{"subagent_id": "agent-nothing0"}`, "flame_agent_list"},
		"the result of an unknown agent":        {"flame_agent_result", `{"subagent_id": "agent-nothing0"}`, "flame_agent_list"},
		"to cancel an unknown agent":            {"flame_agent_cancel", `{"subagent_id": "agent-nothing0"}`, "flame_agent_list"},
		"to list below an unknown agent":        {"flame_agent_list", `{"subagent_id": "agent-nothing0"}`, "flame_agent_list"},
		"an empty id":                           {"flame_agent_status", `{"subagent_id": " "}`, "flame_agent_list"},
		"no id":                                 {"flame_agent_status", `{}`, "subagent_id"},
		"a negative timeout":                    {"spawn_agent", `{"subagent_type": "analyzer", "prompt": "x", "timeout": -1}`, "cannot be negative"},
		"an unknown type and a timeout of ages": {"spawn_agent", `{"subagent_type": "bilder", "prompt": "x", "timeout": 1e300}`, `did you mean`},
		"a negative offset":                     {"flame_agent_result", `{"subagent_id": "x", "offset": -1}`, "offset is negative"},
		"an unknown filter":                     {"flame_agent_list", `{"filter": "odd"}`, "running"},
		"a spawn without a prompt":              {"spawn_agent", `{"subagent_type": "builder"}`, "prompt is missing"},
		"a spawn of an unknown type":            {"spawn_agent", `{"subagent_type": "bilder", "prompt": "x"}`, `did you mean "builder"`},
		"a spawn in an unknown mode":            {"spawn_agent", `{"subagent_type": "builder", "prompt": "x", "permission_mode": "odd"}`, "acceptEdits"},
		"a handoff to an unknown agent":         {"flame_handoff", `{"subagent_id": "agent-nothing0"}`, "flame_agent_list"},
		"an unknown argument":                   {"spawn_agent", `{"subagent_type": "builder", "prompt": "x", "speed": 9}`, "speed"},
	} {
		t.Run(name, func(t *testing.T) {
			result, text := d.call(tt.tool, tt.args)
			assert.True(t, result.IsError)
			assert.Contains(t, text, tt.says)
		})
	}
}

func TestSubscribersGetTheEndOfAnAgent(t *testing.T) {
	t.Parallel()
	d := delegate(t)
	id, _ := d.spawn("hang", "")
	uri := "flame://agent/" + id
	require.Empty(t, d.subscribe(mcp.MethodResourcesSubscribe, uri))
	d.tick <- time.Time{} // it runs: that is news
	d.tell("flame_agent_cancel", id, "")
	d.tell("flame_agent_wait", id, "")
	d.tick <- time.Time{}
	for range 2 {
		select {
		case note := <-d.told:
			assert.Equal(t, uri, note.Params.AdditionalFields["uri"])
		case <-time.After(time.Minute):
			require.Fail(t, "nothing was told")
		}
	}
	var read mcp.ReadResourceRequest
	read.Params.URI = uri
	found, err := d.ReadResource(d.ctx, read)
	require.NoError(t, err)
	assert.Contains(t, found.Contents[0].(mcp.TextResourceContents).Text, "(cancelled)")
}
