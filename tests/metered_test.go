package tests

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/turns"
	"flame/project/usage"
	"flame/store"
)

// gateway stores the requests of a gateway beside the commands.
func (d *day) gateway(by project.Caller, requests ...usage.Request) {
	d.t.Helper()
	var where struct{ Data string }
	d.read(&where, "where")
	kept := store.Open(where.Data, store.Options{})
	p := &project.Project{
		Store: kept, Log: slog.New(slog.DiscardHandler), NewID: project.NewID, Now: func() core.Millis { return core.MillisOf(time.Now()) },
	}
	require.NoError(d.t, turns.Answered(d.t.Context(), p, by, turns.Report{Requests: requests}))
	require.NoError(d.t, kept.Close())
}

// A metered is flame's report of requests through a gateway.
type metered struct {
	Host, Class         string
	Requests, Failed    int
	Usage               core.Usage
	FirstMean, FirstMax core.Millis
	Given, Sent, Spared int64
	Begun, FirstSum     int64
}

func TestAGatewaysFiguresAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	d.hook(claudeCode, map[string]any{
		"hook_event_name": "UserPromptSubmit", "session_id": "claude-1", "prompt_id": "p1", "prompt": "Build a login", "cwd": d.project,
	})
	for _, command := range []string{"stats", "status", "sessions"} {
		assert.NotContains(t, d.flame("", command), "gateway", "nothing without one")
		assert.NotContains(t, d.flame("", command, "--json"), "metered")
	}
	s := project.Caller{Session: "claude-1", Host: claudeCode, Trust: project.Stamped}
	now := core.MillisOf(time.Now())
	answered := usage.Request{
		Answer: "m1", Class: "main", Model: "claude-opus-5-5", Asked: now, First: 1_200, Took: 3_000, Status: 200, Context: 250_000,
		Usage: core.Usage{TokensIn: 250_000, TokensOut: 10, CostUSD: 1}, Given: 3_000_000, Sent: 1_000_000,
	}
	beside := answered
	beside.Answer, beside.Class, beside.First, beside.Given, beside.Sent = "m2", "auxiliary", 400, 1_000, 1_000
	refused := usage.Request{Class: "main", Asked: now, Took: 50, Status: 529, Given: 1_000_000, Sent: 1_000_000}
	d.gateway(s, answered, beside, refused)
	log := filepath.Join(d.home, ".claude", "projects", "-project", "claude-1.jsonl")
	d.logs(log, "", "m1") // the log has this one, too
	d.hook(claudeCode, map[string]any{
		"hook_event_name": "Stop", "session_id": "claude-1", "transcript_path": log, "last_assistant_message": "built", "background_tasks": []any{}, "cwd": d.project,
	})

	main := metered{
		Class: "main", Requests: 2, Failed: 1, Usage: answered.Usage, FirstMean: 1_200, FirstMax: 1_200, FirstSum: 1_200, Begun: 1,
		Given: 4_000_000, Sent: 2_000_000, Spared: 2_000_000,
	}
	auxiliary := metered{
		Class: "auxiliary", Requests: 1, Usage: answered.Usage, FirstMean: 400, FirstMax: 400, FirstSum: 400, Begun: 1, Given: 1_000, Sent: 1_000,
	}
	own := []metered{main, auxiliary}
	main.Host, auxiliary.Host = claudeCode, claudeCode
	whole := []metered{main, auxiliary}
	const sum = "3 requests, 1 failed, first token after 800ms (at most 1.2s), 500000 tokens in, 20 out, 0 cache read, 0 cache written, $2.0000, " +
		"2.0 MB of 4.0 MB left out\n"

	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	d.read(&told, "stats")
	assert.Equal(t, whole, told.Metered)
	assert.Equal(t, core.Usage{TokensIn: 500_000, TokensOut: 20, CostUSD: 2}, told.Usage, "the log's answer is the gateway's")
	stats := d.flame("", "stats")
	assert.Contains(t, stats, "gateway of claude-code, main: 2 requests, 1 failed, first token after 1.2s (at most 1.2s), 250000 tokens in, ")
	assert.Contains(t, stats, "gateway of claude-code, auxiliary: 1 request, first token after 400ms (at most 400ms), 250000 tokens in, ")
	d.read(&told, "status")
	assert.Equal(t, whole, told.Metered)
	assert.Contains(t, d.flame("", "status"), "\nMeasured by the gateway: "+sum)
	assert.NotContains(t, d.flame("", "call", "flame_status"), "gateway", "a model has no use for it")
	require.NoError(t, json.Unmarshal([]byte(d.flame("", "call", "flame_get_state")), &told))
	assert.Equal(t, whole, told.Metered)
	var shown struct{ Metered []metered }
	d.read(&shown, "show", "claude-1")
	assert.Equal(t, own, shown.Metered)
	assert.Contains(t, d.flame("", "show", "claude-1"), "Measured by the gateway: "+sum)
	assert.Contains(t, d.flame("", "call", "flame_frame_details", `{"frameID": "claude-1"}`), sum)

	var sessions []struct{ Metered []metered }
	d.read(&sessions, "sessions")
	require.Len(t, sessions, 1)
	assert.Equal(t, own, sessions[0].Metered)
	assert.Contains(t, d.flame("", "sessions"), " (gateway: 3 requests, $2.0000, 2.0 MB of 4.0 MB left out)\n")
	d.tellsOfRequests(answered)
}

// tellsOfRequests checks the events of the requests, and the metrics.
func (d *day) tellsOfRequests(answered usage.Request) {
	d.t.Helper()
	text := d.flame("", "events", "--kind", core.RequestAnswered)
	assert.Contains(d.t, text, `: a request to the model (main: 200: 1200 ms to the first token: 10 tokens out: 1 USD) "Build a login"`)
	assert.Contains(d.t, text, "(main: 529: ")
	var e struct {
		Session, Frame, Host string
		Data                 map[string]any
	}
	lines := d.flame("", "events", "--kind", core.RequestAnswered, "--json", "--session", "claude-1")
	require.NoError(d.t, json.NewDecoder(strings.NewReader(lines)).Decode(&e))
	assert.Equal(d.t, []string{"claude-1", claudeCode}, []string{e.Session, e.Host})
	assert.NotEmpty(d.t, e.Frame)
	assert.Equal(d.t, answered.Model, e.Data["model"])

	metrics := d.metrics()
	for _, line := range []string{
		`requests_total{host="claude-code",class="main",outcome="answered"} 1`, `requests_total{host="claude-code",class="main",outcome="failed"} 1`,
		`requests_total{host="claude-code",class="auxiliary",outcome="answered"} 1`, `first_token_seconds_sum{host="claude-code",class="main"} 1.2`,
		`first_token_seconds_count{host="claude-code",class="main"} 1`, `first_token_seconds_max{host="claude-code",class="main"} 1.2`,
		`cost_usd_total{host="claude-code",class="main"} 1`, `bytes_total{host="claude-code",class="main",kind="given"} 4e+06`,
		`bytes_total{host="claude-code",class="main",kind="sent"} 2e+06`, `tokens_total{host="claude-code",class="main",kind="in"} 250000`,
	} {
		assert.Contains(d.t, metrics, "flame_gateway_"+line+"\n")
	}
	assert.InDelta(d.t, 2, d.metric(metrics, "flame_cost_usd_total"), 1e-9)
}
