package tests

import (
	"encoding/json"
	"errors"
	"log/slog"
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

// within uses the project in this process, which waits for a busy machine as a hook does not.
func (d *day) within(use func(p *project.Project) error) {
	var where struct{ Data string }
	d.read(&where, "where")
	kept := store.Open(where.Data, store.Options{})
	p := &project.Project{
		Store: kept, Dir: d.project, Log: slog.New(slog.DiscardHandler), NewID: project.NewID,
		Budget: core.DefaultBudget(), Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
		Now: func() core.Millis { return core.MillisOf(time.Now()) },
	}
	require.NoError(d.t, errors.Join(use(p), kept.Close()))
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
	d.happens(`claude-code {"hook_event_name":"UserPromptSubmit","session_id":"claude-1","prompt_id":"p1","prompt":"Build a login","cwd":"$project"}`)
	assert.NotContains(t, d.flame("", "stats"), "gateway", "nothing without one")
	s := project.Caller{Session: "claude-1", Host: claudeCode, Trust: project.TrustHook}
	now := core.MillisOf(time.Now())
	answered := usage.MeteredRequest{
		Answer: "m1", Class: "main", Model: "claude-opus-5-5", Asked: now, First: 1_200, Took: 3_000, Status: 200, Context: 250_000,
		Usage: core.Usage{TokensIn: 250_000, TokensOut: 10, CostUSD: 1}, Given: 3_000_000, Sent: 1_000_000,
	}
	refused := usage.MeteredRequest{Class: "main", Asked: now, Took: 50, Status: 529, Given: 1_000_000, Sent: 1_000_000}
	d.within(func(p *project.Project) error {
		return turns.Answered(t.Context(), p, s, turns.Report{Requests: []usage.MeteredRequest{answered, refused}})
	})
	// The log has the answer, too.
	d.happens(`$home/log.jsonl > {"type":"assistant","timestamp":"$time","message":{"id":"m1","model":"claude-opus-5-5","usage":{"input_tokens":250000}}}
		claude-code {"hook_event_name":"Stop","session_id":"claude-1","transcript_path":"$home/log.jsonl","cwd":"$project","background_tasks":[]}`)

	own := metered{
		Class: "main", Requests: 2, Failed: 1, Usage: answered.Usage, FirstMean: 1_200, FirstMax: 1_200, FirstSum: 1_200, Begun: 1,
		Given: 4_000_000, Sent: 2_000_000, Spared: 2_000_000,
	}
	whole := own
	whole.Host = claudeCode
	type told struct {
		Usage   core.Usage
		Metered []metered
	}
	for want, lines := range map[metered][]string{whole: {"stats", "status", "call flame_get_state"}, own: {"show claude-1"}} {
		for _, line := range lines {
			var got told
			raw := d.flame("", append(strings.Fields(line), "--json")...)
			require.NoError(t, json.Unmarshal([]byte(raw), &got))
			assert.Equal(t, []metered{want}, got.Metered, line)
		}
	}
	const sum = "2 requests, 1 failed, first token after 1.2 s (at most 1.2 s), 250 k tokens in, 10 out, 0 cache read, 0 cache written, $1.00, " +
		"2 MB of 4 MB left out: 2.0x less\n"
	for line, want := range map[string]string{
		"stats":  "gateway of Claude Code, main: " + sum,
		"status": "$1.00 today · folding left out 2 MB of 4 MB\n", "show claude-1": "Measured by the gateway: " + sum,
		"sessions": " (gateway: 2 requests, $1.00, 2 MB of 4 MB left out: 2.0x less)\n",
		"events":   `: a request to the model (main: 200: 1.2 s to the first token: 10 tokens out: $1.00) "Build a login"`,
	} {
		assert.Contains(t, d.flame("", strings.Fields(line)...), want)
	}
	metrics := d.metrics()
	for _, line := range []string{
		`requests_total{host="claude-code",class="main",outcome="answered"} 1`, `requests_total{host="claude-code",class="main",outcome="failed"} 1`,
		`first_token_seconds_sum{host="claude-code",class="main"} 1.2`, `cost_usd_total{host="claude-code",class="main"} 1`,
		`bytes_total{host="claude-code",class="main",kind="sent"} 2e+06`, `tokens_total{host="claude-code",class="main",kind="in"} 250000`,
	} {
		assert.Contains(t, metrics, "flame_gateway_"+line+"\n")
	}
	assert.InDelta(t, 1, d.metric(metrics, "flame_cost_usd_total"), 1e-9, "the log's answer is the gateway's")
}
