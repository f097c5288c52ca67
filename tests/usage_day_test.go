package tests

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/samber/lo"
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

// A day is a project in which testdata/day.txt happens.
type day struct {
	*sealed
	t *testing.T
}

func newDay(t *testing.T) *day {
	d := &day{newSealed(t), t}
	d.write(filepath.Join(d.bin, "claude"), oneAnswer)
	d.env = append(d.env, "FLAME_SUBAGENT_IDLE_DELAY=600000") // a host ends its subagents, however long that takes here
	return d
}

// read runs a command with --json and decodes its output.
func (d *day) read(into any, args ...string) {
	require.NoError(d.t, json.Unmarshal([]byte(d.flame("", append(args, "--json")...)), into))
}

// play has happen what the parts of testdata/day.txt tell that begin so.
func (d *day) play(begin string) {
	told, err := os.ReadFile(filepath.Join("testdata", "day.txt"))
	require.NoError(d.t, err)
	for _, part := range strings.Split(string(told), "\n\n")[1:] {
		if strings.HasPrefix(part, begin) {
			d.happens(part)
		}
	}
}

// happens has happen what lines of the form of testdata/day.txt tell.
func (d *day) happens(lines string) {
	for line := range strings.Lines(lines) {
		now := time.Now()
		line = strings.NewReplacer("$home", d.home, "$project", d.project, "$login", d.login(line), "$now", strconv.FormatInt(now.UnixMilli(), 10),
			"$time", now.UTC().Format(time.RFC3339Nano)).Replace(strings.TrimSpace(line))
		who, what, _ := strings.Cut(line, " ")
		switch text, logged := strings.CutPrefix(what, "> "); {
		case logged:
			require.NoError(d.t, os.MkdirAll(filepath.Dir(who), 0o755))
			file, err := os.OpenFile(who, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			require.NoError(d.t, err)
			_, err = file.WriteString(text + "\n")
			require.NoError(d.t, errors.Join(err, file.Close()))
		case who == "flame":
			d.flame("", strings.Fields(what)...)
		default:
			d.flame(what, "hook", who)
		}
	}
}

// login returns the id of the frame "Login", if a line names it.
func (d *day) login(line string) string {
	if !strings.Contains(line, "$login") {
		return ""
	}
	var found []costed
	d.read(&found, "search", "Login")
	for _, f := range found {
		if f.Goal == "Login" {
			return f.ID
		}
	}
	require.Fail(d.t, "it is not found")
	return ""
}

// metric returns the sum of a metric over its labels.
func (d *day) metric(text, name string) (sum float64) {
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
	d.play("")
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
	want := core.Usage{TokensIn: 750_000 + 2_000 + 100_000 + 100_000 + 250_000, TokensOut: 20, CostUSD: 3 + 0.75 + 0.5 + 0.125 + 1.25, ToolCalls: 2}
	assert.Equal(t, want, stats.Usage)
	assert.Equal(t, map[string]int{"ended": 1, "idle": 3}, stats.Sessions, "neither subagents nor agents nor the shell are sessions")
	assert.Equal(t, core.SubagentStats{TotalDetected: 2, FramesCreated: 2, EndedByHost: 2}, stats.Subagents)
	assert.Equal(t, 1, stats.Agents.Count)
	assert.InDelta(t, 1.25, stats.Agents.Usage.CostUSD, 1e-9)
	text := d.flame("", "stats")
	assert.Contains(t, text, "agents: 1, 0 running; 250 k tokens in, 0 out, 0 cache read, 0 cache written, 0 tool calls, $1.25\n")
	assert.Contains(t, text, "used in all: 1.2 M tokens in, 20 out, 0 cache read, 0 cache written, 2 tool calls, $5.62\n")
	assert.Regexp(t, `(?m)^Claude Code +\d+ .*\$`, d.flame("", "stats", "--by", "host"))

	var tree []costed
	d.read(&tree, "tree")
	assert.Equal(t, want, sum(tree))
	assert.Contains(t, d.flame("", "status", "--session", "ses_1"), "Used in it: 1 k tokens in, 10 out, 0 cache read, 0 cache written, 1 tool call, $0.50\n")
	for frame, cost := range map[string]float64{"claude-1": 1, "abc": 1, d.login("$login"): 1.5, "gemini-1": 0.125} {
		var shown costed
		d.read(&shown, "show", frame)
		assert.InDelta(t, cost, shown.Usage.CostUSD, 1e-9, frame)
	}
	var sessions []costed
	d.read(&sessions, "sessions", "--all")
	assert.Equal(t, want, sum(sessions))
	spent := map[string]float64{"claude-1": 3, "ses_1": 0.75, "codex-1": 0.5, "gemini-1": 0.125, "cli": 1.25}
	assert.Equal(t, spent, lo.SliceToMap(sessions, func(s costed) (string, float64) { return s.ID, s.Usage.CostUSD }))
	for session, cost := range map[string]string{"ses_1": "$0.75", "gemini-1": "$0.12"} {
		assert.Contains(t, d.flame("", "status", "--line", "--session", session), cost)
	}
	assert.Contains(t, d.flame("", "agents", "runs"), "$1.25")
	var result costed
	d.read(&result, "agents", "show", agent)
	assert.Equal(t, stats.Agents.Usage, result.Usage)

	var report struct {
		Board struct {
			Frames []struct {
				ID, Host string
				Self     core.Usage
			}
		}
	}
	d.read(&report, "report")
	var shown core.Usage
	for _, f := range report.Board.Frames {
		assert.NotEqual(t, "cli", f.Host, "no work was done at a shell")
		shown = shown.Add(f.Self)
	}
	assert.Equal(t, want, shown)

	metrics := d.metrics()
	assert.InDelta(t, want.CostUSD, d.metric(metrics, "flame_cost_usd_total"), 1e-9)
	assert.InDelta(t, float64(want.Tokens()), d.metric(metrics, "flame_tokens_total"), 0)
	assert.InDelta(t, stats.Agents.Usage.CostUSD, d.metric(metrics, "flame_subagent_cost_usd_total"), 1e-9)
	assert.InDelta(t, 2, d.metric(metrics, "flame_subagent_native_ended_by_host_total"), 0)

	logs := filepath.Join(d.home, ".claude", "projects", "-project")
	output := filepath.Join(strings.TrimSpace(d.flame("", "where")), "agents", agent, "stdout.jsonl")
	for path, want := range map[string]float64{logs: 3, output: 1.25} {
		var told struct{ Nodes []costed }
		d.read(&told, "agents", "graph", path)
		assert.InDelta(t, want, sum(told.Nodes).CostUSD, 1e-9, path)
	}
}
