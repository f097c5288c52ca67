package tests

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// oneAnswer answers once, for one dollar, and reports a side request for a quarter more.
const oneAnswer = `#!/bin/sh
case "$*" in *--version*) echo "2.1.328 (Claude Code)"; exit ;; plugin*) echo "[]"; exit ;; esac
for word; do case $word in --session-id=*) session=${word#*=} ;; esac; done
cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"'$session'","model":"claude-opus-5-5","tools":["Read"]}'
echo '{"type":"assistant","session_id":"'$session'","message":{"id":"m1","model":"claude-opus-5-5","stop_reason":"end_turn",` +
	`"usage":{"input_tokens":250000},"content":[{"type":"text","text":"seen"}]}}'
echo '{"type":"result","subtype":"success","session_id":"'$session'","result":"seen","total_cost_usd":1.25,` +
	`"usage":{"input_tokens":250000},"modelUsage":{"claude-opus-5-5":{}}}'
`

// A day has sessions of both hosts in a project, subagents of theirs, and an agent of flame's.
type day struct {
	*sealed
	t *testing.T
}

func newDay(t *testing.T) *day {
	t.Helper()
	d := &day{newSealed(t), t}
	d.write(filepath.Join(d.bin, "claude"), oneAnswer)
	d.env = append(d.env, "FLAME_SUBAGENT_IDLE_DELAY=600000") // a host ends its subagents, however long that takes here
	return d
}

// read runs a command with --json and decodes its output.
func (d *day) read(into any, args ...string) {
	d.t.Helper()
	require.NoError(d.t, json.Unmarshal([]byte(d.flame("", append(args, "--json")...)), into))
}

// hook reports an event of a host to flame.
func (d *day) hook(host string, event map[string]any) {
	d.t.Helper()
	raw, err := json.Marshal(event)
	require.NoError(d.t, err)
	d.flame(string(raw), "hook", host)
}

// logs appends answers, each for a dollar, to a log of Claude Code.
func (d *day) logs(path, agent string, ids ...string) {
	d.t.Helper()
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(d.t, err)
	for _, id := range ids {
		raw, err := json.Marshal(map[string]any{
			"type": "assistant", "sessionId": "claude-1", "agentId": agent, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
			"message": map[string]any{"id": id, "model": "claude-opus-5-5", "content": []any{}, "usage": map[string]any{"input_tokens": 250_000}},
		})
		require.NoError(d.t, err)
		_, err = file.Write(append(raw, '\n'))
		require.NoError(d.t, err)
	}
	require.NoError(d.t, file.Close())
}

// claude is a session of Claude Code that costs two dollars, with a subagent for another dollar.
func (d *day) claude() (logs string) {
	d.t.Helper()
	logs = filepath.Join(d.home, ".claude", "projects", "-project")
	own, child := filepath.Join(logs, "claude-1.jsonl"), filepath.Join(logs, "claude-1", "subagents", "agent-abc.jsonl")
	tell := func(name string, more map[string]any) {
		event := map[string]any{"hook_event_name": name, "session_id": "claude-1", "transcript_path": own, "cwd": d.project}
		for key, value := range more {
			event[key] = value
		}
		d.hook(claudeCode, event)
	}
	asked := map[string]any{"tool_name": "Agent", "tool_use_id": "t1", "tool_input": map[string]any{
		"description": "Look around", "subagent_type": "Explore", "prompt": "look",
	}}
	tell("SessionStart", map[string]any{"source": "startup"})
	tell("UserPromptSubmit", map[string]any{"prompt_id": "p1", "prompt": "Build a login"})
	tell("PreToolUse", asked)
	d.logs(own, "", "m1", "m2")
	d.logs(child, "abc", "c1")
	tell("SubagentStop", map[string]any{"agent_id": "abc", "agent_type": "Explore", "agent_transcript_path": child, "last_assistant_message": "seen"})
	asked["tool_response"] = map[string]any{"status": "completed", "agentId": "abc", "content": []any{map[string]any{"text": "seen"}}}
	tell("PostToolUse", asked)
	tell("Stop", map[string]any{"last_assistant_message": "built", "background_tasks": []any{}})
	return logs
}

// openCode is a session of OpenCode that costs half a dollar, with a subagent for a quarter.
func (d *day) openCode() {
	d.t.Helper()
	spent := func(id string, cost float64) []any {
		return []any{map[string]any{"id": id, "at": time.Now().UnixMilli(), "in": 1_000, "out": 10, "cost": cost, "tools": 1}}
	}
	for _, event := range []map[string]any{
		{"event": "chat.message", "session": "ses_1", "message": "msg_1", "text": "Write the docs"},
		{"event": "session.created", "session": "ses_2", "parent": "ses_1", "title": "Read the code (@explore subagent)"},
		{"event": "session.idle", "session": "ses_2", "parent": "ses_1", "text": "read", "usage": spent("msg_2", 0.25)},
		{"event": "tool.after", "session": "ses_1", "tool": "task", "child": "ses_2", "output": "<task_result>\nread\n</task_result>"},
		{"event": "session.idle", "session": "ses_1", "text": "written", "usage": spent("msg_3", 0.5)},
	} {
		d.hook(openCode, event)
	}
}

// metric returns the sum of a metric over its labels.
func (d *day) metric(text, name string) (sum float64) {
	d.t.Helper()
	found := regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (\S+)$`).FindAllStringSubmatch(text, -1)
	require.NotEmpty(d.t, found, name)
	for _, line := range found {
		value, err := strconv.ParseFloat(line[1], 64)
		require.NoError(d.t, err)
		sum += value
	}
	return sum
}

// metrics returns a server's /metrics.
func (d *day) metrics() string {
	d.t.Helper()
	s := serveProject(d.t, d.home, d.project)
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/metrics", nil)
	require.NoError(d.t, err)
	request.Header.Set("Authorization", "Bearer "+s.token(d.t))
	response, err := httpClient.Do(request)
	require.NoError(d.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(d.t, err)
	return string(text)
}

// A costed is a part of the tree, or of a log.
type costed struct {
	ID       string
	Goal     string
	Usage    core.Usage
	Children []costed
}

// sum adds up trees.
func sum(all []costed) (used core.Usage) {
	for _, c := range all {
		used = used.Add(c.Usage).Add(sum(c.Children))
	}
	return used
}

func TestCostsOfADayAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	logs := d.claude()
	d.openCode()
	printed := d.flame("", "agents", "spawn", "analyzer", "Look", "--description", "Look deeper", "--wait")
	agent := agentID.FindString(printed)
	require.NotEmpty(t, agent, printed)

	var stats struct {
		Total    int
		Sessions map[string]int
		Agents   struct {
			Count int
			Usage core.Usage
		}
		Subagents core.SubagentStats
		Usage     core.Usage
	}
	d.read(&stats, "stats")
	assert.InDelta(t, 2+1+0.5+0.25+1.25, stats.Usage.CostUSD, 1e-9)
	assert.Equal(t, int64(4*250_000+2*1_000), stats.Usage.TokensIn)
	assert.Equal(t, map[string]int{"idle": 2}, stats.Sessions, "neither subagents nor agents nor the shell are sessions")
	assert.Equal(t, core.SubagentStats{TotalDetected: 2, FramesCreated: 2, EndedByHost: 2}, stats.Subagents)
	assert.Equal(t, 1, stats.Agents.Count)
	assert.InDelta(t, 1.25, stats.Agents.Usage.CostUSD, 1e-9)
	text := d.flame("", "stats")
	assert.Contains(t, text, "agents: 1, 0 running; 250000 tokens in, 0 out, 0 cache read, 0 cache written, 0 tool calls, $1.2500\n")
	assert.Contains(t, text, "usage in all: 1002000 tokens in, 20 out, 0 cache read, 0 cache written, 2 tool calls, $5.0000\n")

	var tree []costed
	d.read(&tree, "tree")
	assert.Equal(t, stats.Usage, sum(tree))
	assert.Contains(t, d.flame("", "status", "--session", "ses_1"), "Used in it: 1000 tokens in, 10 out, 0 cache read, 0 cache written, 1 tool call, $0.5000\n")
	for frame, cost := range map[string]float64{"claude-1": 2, "abc": 1} {
		var shown costed
		d.read(&shown, "show", frame)
		assert.InDelta(t, cost, shown.Usage.CostUSD, 1e-9, frame)
	}
	var sessions []costed
	d.read(&sessions, "sessions")
	require.Len(t, sessions, 2)
	assert.Equal(t, []string{"ses_1", "claude-1"}, []string{sessions[0].ID, sessions[1].ID}, "the one heard of last comes first")
	assert.Equal(t, stats.Usage, sum(sessions))
	assert.Contains(t, d.flame("", "agents", "runs"), "$1.2500")
	var result costed
	d.read(&result, "agents", "show", agent)
	assert.Equal(t, stats.Agents.Usage, result.Usage)

	metrics := d.metrics()
	assert.InDelta(t, stats.Usage.CostUSD, d.metric(metrics, "flame_cost_usd_total"), 1e-9)
	assert.InDelta(t, float64(stats.Usage.Tokens()), d.metric(metrics, "flame_tokens_total"), 0)
	assert.InDelta(t, stats.Agents.Usage.CostUSD, d.metric(metrics, "flame_subagent_cost_usd_total"), 1e-9)
	assert.InDelta(t, 2, d.metric(metrics, "flame_subagent_native_ended_by_host_total"), 0)

	output := filepath.Join(strings.TrimSpace(d.flame("", "where")), "agents", agent, "stdout.jsonl")
	for path, want := range map[string]float64{logs: 3, output: 1.25} {
		var told struct{ Nodes []costed }
		d.read(&told, "agents", "graph", path)
		assert.InDelta(t, want, sum(told.Nodes).CostUSD, 1e-9, path)
	}
}
