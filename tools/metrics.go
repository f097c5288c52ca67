package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/usage"
	"flame/project/view"
)

// Metrics serves Prometheus metrics of agents and contexts. It computes its
// counters from the event log, so they cover the events that the log still has, and all
// processes return the same values.
type Metrics struct {
	project *project.Project
	agents  *agents.Agents

	mu     sync.Mutex
	sums   map[string]float64         // by series
	last   int64                      // last event that was counted
	values map[string]map[string]bool // values seen, by label
}

// NewMetrics returns the metrics of a project.
func NewMetrics(p *project.Project, a *agents.Agents) *Metrics {
	return &Metrics{project: p, agents: a, sums: map[string]float64{}, values: map[string]map[string]bool{}}
}

// ServeHTTP writes all metrics in Prometheus's text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.gather(r.Context()); err != nil {
		http.Error(w, "the metrics could not be read: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, series := range slices.Sorted(maps.Keys(m.sums)) {
		fmt.Fprintln(w, series, m.sums[series])
	}
}

// maxCounted is how many events flame reads at once.
const maxCounted = 2_000

// gather counts the events since the last call and reads the current state.
func (m *Metrics) gather(ctx context.Context) error {
	kinds := slices.Sorted(maps.Keys(counted))
	for {
		events, err := view.Events(ctx, m.project, project.EventQuery{AfterSeq: m.last, Kinds: kinds, Limit: maxCounted})
		if err != nil {
			return err
		}
		for _, e := range events {
			m.count(e)
			m.last = e.Seq
		}
		if len(events) < maxCounted {
			return m.look(ctx)
		}
	}
}

// eventFields has the parts of an event's data that metrics need.
type eventFields struct {
	Type      string  `json:"agent_type"`
	Model     string  `json:"model"`
	Outcome   string  `json:"outcome"`
	State     string  `json:"state"`
	Kind      string  `json:"kind"`
	EventType string  `json:"event_type"`
	Tokens    float64 `json:"tokens"`
	CostUSD   float64 `json:"costUSD"`
	Duration  float64 `json:"duration_ms"`
	Mode      any     `json:"permission_mode"`
	Conflict  struct {
		Kind string `json:"kind"`
	} `json:"conflict"`
}

// A counter is a metric to which events of one kind add.
type counter struct {
	name   string                      // without flame_
	labels string                      // their names; all have few values: names of definitions, hosts, outcomes, models, levels
	adds   func(d eventFields) float64 // nil: each event adds 1
	when   func(d eventFields) bool    // nil: always
}

// usedBy are the labels of agents' usage.
const usedBy = "agent_type host model depth"

// counted holds the counters by kind of event.
var counted = map[string][]counter{
	core.SubagentSpawned: {{name: "subagent_spawned_total", labels: "agent_type host"}},
	core.SubagentStop: {
		{name: "subagent_stopped_total", labels: "agent_type host outcome"},
		{name: "subagent_duration_seconds_count", labels: "agent_type"},
		{name: "subagent_duration_seconds_sum", labels: "agent_type", adds: func(d eventFields) float64 { return d.Duration / 1000 }},
		{name: "subagent_tokens_total", labels: usedBy, adds: func(d eventFields) float64 { return d.Tokens }},
		{name: "subagent_cost_usd_total", labels: usedBy, adds: func(d eventFields) float64 { return d.CostUSD }},
		{name: "subagent_orphaned_total", labels: "agent_type", when: func(d eventFields) bool { return d.State == string(core.AgentOrphaned) }},
	},
	core.SubagentRetry: {{name: "subagent_retries_total", labels: "agent_type host"}},
	core.PermissionDecision: {{name: "subagent_permission_escalations_total", labels: "agent_type", when: func(d eventFields) bool {
		mode, ok := d.Mode.(map[string]any)
		return ok && mode["cappedBy"] != nil // less was granted than requested
	}}},
	core.BudgetExceeded:       {{name: "subagent_budgets_exceeded_total", labels: "host"}},
	core.ConvergenceInitiated: {{name: "subagent_convergences_total"}},
	core.TranscriptEvent: {{name: "subagent_convergence_conflicts_total", labels: "kind", when: func(d eventFields) bool {
		return d.EventType == core.EventConflictDetected
	}}},
	core.ContextInjected: {{name: "context_tokens_injected_total", labels: "kind", adds: func(d eventFields) float64 { return d.Tokens }}},
	core.FrameFolded:     {{name: "frames_folded_total", labels: "host"}},
	core.SummaryStored:   {{name: "compactions_total"}},
}

// count adds an event to its counters.
func (m *Metrics) count(e core.Event) {
	var d eventFields
	_ = json.Unmarshal(e.Data, &d) // data of another form counts as zero
	values := map[string]string{
		"agent_type": d.Type, "host": e.Host, "outcome": d.Outcome, "model": d.Model, "depth": fmt.Sprint(e.Depth),
		"kind": cmp.Or(d.Conflict.Kind, d.Kind),
	}
	for _, c := range counted[e.Event] {
		if c.when != nil && !c.when(d) {
			continue
		}
		var labels []string
		for _, label := range strings.Fields(c.labels) {
			labels = append(labels, label, m.bounded(label, values[label]))
		}
		n := 1.0
		if c.adds != nil {
			n = c.adds(d)
		}
		m.sums[series(c.name, labels...)] += n
	}
}

// maxValues is how many values a label may have: names of definitions and models come from
// files and calls.
const maxValues = 100

// bounded returns a label's value, or "other" if the label has too many values
// or this one is too long.
func (m *Metrics) bounded(label, value string) string {
	seen := m.values[label]
	switch {
	case seen[value]:
		return value
	case len(value) > 64 || len(seen) >= maxValues:
		return "other"
	case seen == nil:
		m.values[label] = map[string]bool{}
	}
	m.values[label][value] = true
	return value
}

// series returns the name of a metric with its labels, given as names and values.
func series(name string, labels ...string) string {
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", pair[0], pair[1]))
	}
	if pairs == nil {
		return "flame_" + name
	}
	return "flame_" + name + "{" + strings.Join(pairs, ",") + "}"
}

func (m *Metrics) set(x float64, name string, labels ...string) { m.sums[series(name, labels...)] = x }

// look sets the metrics of the current state, and those that other parts of flame count.
func (m *Metrics) look(ctx context.Context) error {
	all, err := m.agents.Stats(ctx)
	if err != nil {
		return err
	}
	for name, n := range map[string]int{
		"detected": all.Subagents.TotalDetected, "frames": all.Subagents.FramesCreated, "skipped": all.Subagents.SkippedByHeuristics,
		"auto_completed": all.Subagents.AutoCompleted, "manually_completed": all.Subagents.ManuallyCompleted, "ended_by_host": all.Subagents.EndedByHost,
	} {
		m.set(float64(n), "subagent_native_"+name+"_total")
	}
	m.setUsed(all.Usage, "tokens_total")
	m.set(float64(all.Usage.ToolCalls), "tool_calls_total")
	m.set(all.Usage.CostUSD, "cost_usd_total")
	m.set(float64(all.Usage.Unpriced), "unpriced_tokens_total")
	for _, r := range all.Requests {
		host := m.bounded("host", r.Host)
		m.set(float64(r.Requests), "requests_total", "host", host)
		m.set(float64(r.Sent), "request_tokens_total", "host", host, "kind", "sent")
		m.set(float64(r.LeftOut), "request_tokens_total", "host", host, "kind", "left_out")
	}
	for _, metered := range all.Metered {
		m.setMetered(metered)
	}
	runs, err := m.agents.Running(ctx)
	if err != nil {
		return err
	}
	for _, host := range m.agents.Hosts.Names() {
		m.set(0, "subagent_running", "host", host)
	}
	for host, n := range lo.CountValuesBy(runs, func(run record.Agent) string { return run.Host }) {
		m.set(float64(n), "subagent_running", "host", host)
	}
	if store, ok := m.project.Store.(project.WaitMeter); ok {
		m.set(store.LockWait().Seconds(), "store_lock_wait_seconds_total")
	}
	return nil
}

// setUsed sets the tokens of work, by kind.
func (m *Metrics) setUsed(u core.Usage, name string, labels ...string) {
	for kind, n := range map[string]int64{"in": u.TokensIn, "out": u.TokensOut, "cache_read": u.CacheRead, "cache_written": u.CacheWritten} {
		m.set(float64(n), name, slices.Concat(labels, []string{"kind", kind})...)
	}
}

// setMetered sets the metrics of requests that a gateway measured.
func (m *Metrics) setMetered(r usage.ClassTotals) {
	of := []string{"host", m.bounded("host", r.Host), "class", r.Class}
	set := func(x float64, name string, labels ...string) {
		m.set(x, "gateway_"+name, slices.Concat(of, labels)...)
	}
	set(float64(r.Requests-r.Failed), "requests_total", "outcome", "answered")
	set(float64(r.Failed), "requests_total", "outcome", "failed")
	set(float64(r.Begun), "first_token_seconds_count")
	set(float64(r.FirstSum)/1000, "first_token_seconds_sum")
	set(float64(r.FirstMax)/1000, "first_token_seconds_max")
	set(r.Usage.CostUSD, "cost_usd_total")
	set(float64(r.BytesReceived), "bytes_total", "kind", "given")
	set(float64(r.BytesForwarded), "bytes_total", "kind", "sent")
	m.setUsed(r.Usage, "gateway_tokens_total", of...)
}
