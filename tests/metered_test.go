package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/opencode"
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
		return turns.StoreReport(t.Context(), p, s, turns.Report{Requests: []usage.MeteredRequest{answered, refused}})
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

// A conversation is one of OpenCode's, as flame.js reports it, with the sizes of its requests.
type conversation struct {
	*day
	session string
	history []map[string]any
	clock   int64
	edition int  // of the newest request
	whole   bool // requests are not folded

	requests, sent, leftOut int
}

func (c *conversation) say(role string, tokens int, moves ...map[string]any) {
	c.clock++
	message := map[string]any{"name": fmt.Sprint(role[:1], c.clock), "role": role, "time": c.clock, "tokens": tokens, "moves": moves}
	if role == "assistant" {
		message["edition"] = c.edition
	}
	c.history = append(c.history, message)
}

// request sends the history as flame folds it.
func (c *conversation) request() {
	raw, err := json.Marshal(map[string]any{"event": "messages.transform", "session": c.session, "messages": c.history})
	require.NoError(c.t, err)
	var answer struct {
		Edition       int
		Drop          []string
		Before, After []struct{ Text string }
	}
	c.within(func(p *project.Project) error {
		p.Fold = !c.whole
		said, err := opencode.Hook(c.t.Context(), hosts.HookEnv{Project: p}, raw)
		if len(said) > 0 {
			require.NoError(c.t, json.Unmarshal(said, &answer))
		}
		return err
	})
	c.edition = answer.Edition
	c.requests++
	for _, message := range c.history {
		if slices.Contains(answer.Drop, message["name"].(string)) {
			c.leftOut += message["tokens"].(int)
		} else {
			c.sent += message["tokens"].(int)
		}
	}
	for _, text := range slices.Concat(answer.Before, answer.After) {
		c.sent += (utf8.RuneCountInString(text.Text) + 3) / 4
	}
}

// piece does a piece of work in a frame and returns the frame's id.
func (c *conversation) piece(goal string) string {
	var frame struct{ ID string }
	c.read(&frame, "push", goal, "--session", c.session)
	c.say("assistant", 100, map[string]any{"kind": "enter", "frame": frame.ID, "first": true})
	c.request()
	c.say("assistant", 5_000)
	c.request()
	c.flame("", "pop", "completed", "Done", "--session", c.session)
	c.say("assistant", 50, map[string]any{"kind": "leave", "frame": frame.ID, "first": true})
	c.request()
	return frame.ID
}

func TestTheSavingsOfFoldingAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	d := newDay(t)
	d.play(claudeCode)
	c := &conversation{day: d, session: "ses_1", clock: time.Now().UnixMilli()}
	d.happens(`opencode {"event":"chat.message","session":"ses_1","message":"msg_1","text":"Write the docs"}`)
	c.say("user", 10)
	c.request()
	assert.NotContains(t, d.flame("", "stats"), "left out", "nothing yet")
	first := c.piece("First")
	second := c.piece("Second")
	c.say("assistant", 20)
	c.request()
	require.Equal(t, 8, c.requests)
	require.Equal(t, 5*5_100+2*5_100, c.leftOut)
	less := float64(c.sent+c.leftOut) / float64(c.sent)
	said := fmt.Sprintf("%d, about %s of messages sent, about %s left out: %.1fx less of them\n",
		c.requests, core.Tokens(c.sent), core.Amount(c.leftOut), less)

	type meter struct {
		Host                 string
		Count, Sent, LeftOut int
		TimesLess            float64
	}
	want := []meter{{"opencode", c.requests, c.sent, c.leftOut, less}}
	var stats struct {
		Requests []meter
		Folds    bool
	}
	d.read(&stats, "stats")
	assert.Equal(t, want, stats.Requests, "of Claude Code flame sees none, and claims nothing")
	assert.True(t, stats.Folds)
	assert.Contains(t, d.flame("", "stats"), "requests of OpenCode: "+said)
	assert.Contains(t, d.flame("", "sessions"), fmt.Sprintf("8 requests, messages about %.1fx less by folding", less))
	for frame, requests := range map[string]int{first: 5, second: 2} {
		folded := fmt.Sprintf("Folded: 2 messages, about 5.1 k tokens, left out of %d requests", requests)
		assert.Contains(t, d.flame("", "show", frame), folded)
		assert.Contains(t, d.flame("", "call", "flame_frame_details", `{"frameID": "`+frame+`"}`), folded)
	}
	assert.Contains(t, d.flame("", "events", "--kind", "FrameFolded", "--frame", second),
		second+`: left out of later requests (2 messages: 5.1 k tokens, estimated) "Second"`)

	metrics := d.metrics()
	assert.Contains(t, metrics, fmt.Sprintf(`flame_requests_total{host="opencode"} %d`, c.requests))
	assert.Contains(t, metrics, fmt.Sprintf(`flame_request_tokens_total{host="opencode",kind="left_out"} %d`, c.leftOut))
	assert.Contains(t, metrics, `flame_frames_folded_total{host="opencode"} 2`)

	d.env, c.whole = append(d.env, "FLAME_FOLD=off"), true
	c.say("assistant", 20)
	c.request()
	assert.Equal(t, 5*5_100+2*5_100, c.leftOut, "sent whole")
	d.read(&stats, "stats")
	assert.False(t, stats.Folds)
	assert.Contains(t, d.flame("", "stats"), "folding is off (FLAME_FOLD): hosts send whole requests\n")
	assert.Contains(t, d.flame("", "show", second), "left out of 2 requests", "no more than before")
}
