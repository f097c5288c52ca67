package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"flame/agents"
	"flame/core"
	"flame/project"
	"flame/project/usage"
	"flame/project/view"
)

// Metrics serves Prometheus metrics of agents and contexts (spec: agents §9).
// Its counters are computed from the event log: they begin with what the log
// still holds, and every process returns the same values.
type Metrics struct {
	project *project.Project
	agents  *agents.Agents

	mu   sync.Mutex
	sums map[string]float64 // by series
	last int64              // last event that was counted

	values map[string]bool // values seen, by label
	count  map[string]int  // number of values, by label
}

// NewMetrics returns the metrics of a project.
func NewMetrics(p *project.Project, a *agents.Agents) *Metrics {
	return &Metrics{project: p, agents: a, sums: map[string]float64{}, values: map[string]bool{}, count: map[string]int{}}
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

// maxCounted bounds the events that are read at once.
const maxCounted = 2_000

// gather counts what happened since the last call and reads the current state.
func (m *Metrics) gather(ctx context.Context) error {
	kinds := make([]string, 0, len(counted))
	for kind := range counted {
		kinds = append(kinds, kind)
	}
	for {
		events, err := view.Events(ctx, m.project, project.EventQuery{AfterSeq: m.last, Kinds: kinds, Limit: maxCounted})
		if err != nil {
			return err
		}
		for _, e := range events {
			var d told
			_ = json.Unmarshal(e.Data, &d) // data of another form counts as zero
			counted[e.Event](m, e, d)
			m.last = e.Seq
		}
		if len(events) < maxCounted {
			break
		}
	}
	return m.look(ctx)
}

// told is the part of an event's data that metrics need.
type told struct {
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

// capped reports whether less was granted than requested.
func (d told) capped() bool {
	mode, ok := d.Mode.(map[string]any)
	return ok && mode["cappedBy"] != nil
}

// counted maps each kind of event to what it adds. Labels are bounded: names of
// definitions, hosts, outcomes, models, levels.
var counted = map[string]func(m *Metrics, e core.Event, d told){
	core.SubagentSpawned: func(m *Metrics, e core.Event, d told) {
		m.add(1, "flame_subagent_spawned_total", "agent_type", d.Type, "host", e.Host)
	},
	core.SubagentStop: func(m *Metrics, e core.Event, d told) {
		m.add(1, "flame_subagent_stopped_total", "agent_type", d.Type, "host", e.Host, "outcome", d.Outcome)
		m.add(1, "flame_subagent_duration_seconds_count", "agent_type", d.Type)
		m.add(d.Duration/1000, "flame_subagent_duration_seconds_sum", "agent_type", d.Type)
		labels := []string{"agent_type", d.Type, "host", e.Host, "model", d.Model, "depth", fmt.Sprint(e.Depth)}
		m.add(d.Tokens, "flame_subagent_tokens_total", labels...)
		m.add(d.CostUSD, "flame_subagent_cost_usd_total", labels...)
		if d.State == string(core.AgentOrphaned) {
			m.add(1, "flame_subagent_orphaned_total", "agent_type", d.Type)
		}
	},
	core.SubagentRetry: func(m *Metrics, e core.Event, d told) {
		m.add(1, "flame_subagent_retries_total", "agent_type", d.Type, "host", e.Host)
	},
	core.PermissionDecision: func(m *Metrics, _ core.Event, d told) {
		if d.capped() {
			m.add(1, "flame_subagent_permission_escalations_total", "agent_type", d.Type)
		}
	},
	core.BudgetExceeded: func(m *Metrics, e core.Event, _ told) {
		m.add(1, "flame_subagent_budgets_exceeded_total", "host", e.Host)
	},
	core.ConvergenceInitiated: func(m *Metrics, _ core.Event, _ told) { m.add(1, "flame_subagent_convergences_total") },
	core.TranscriptEvent: func(m *Metrics, _ core.Event, d told) {
		if d.EventType == core.EventConflictDetected {
			m.add(1, "flame_subagent_convergence_conflicts_total", "kind", d.Conflict.Kind)
		}
	},
	core.ContextInjected: func(m *Metrics, _ core.Event, d told) {
		m.add(d.Tokens, "flame_context_tokens_injected_total", "kind", d.Kind)
	},
	core.FrameFolded:   func(m *Metrics, e core.Event, _ told) { m.add(1, "flame_frames_folded_total", "host", e.Host) },
	core.SummaryStored: func(m *Metrics, _ core.Event, _ told) { m.add(1, "flame_compactions_total") },
}

// maxValues bounds how many values a label may have: names of definitions and
// models come from files and calls.
const maxValues = 100

// add adds to a counter with labels, given as names and values.
func (m *Metrics) add(n float64, name string, labels ...string) {
	for i := 1; i < len(labels); i += 2 {
		labels[i] = m.bounded(labels[i-1], labels[i])
	}
	m.sums[series(name, labels)] += n
}

// bounded returns a label's value, or "other" if the label has too many values
// or this one is too long.
func (m *Metrics) bounded(label, value string) string {
	key := label + "=" + value
	switch {
	case m.values[key]:
		return value
	case len(value) > 64 || m.count[label] >= maxValues:
		return "other"
	}
	m.values[key] = true
	m.count[label]++
	return value
}

func series(name string, labels []string) string {
	text := ""
	for i := 0; i+1 < len(labels); i += 2 {
		if text != "" {
			text += ","
		}
		text += fmt.Sprintf("%s=%q", labels[i], labels[i+1])
	}
	if text == "" {
		return name
	}
	return name + "{" + text + "}"
}

// look sets the metrics that are counted elsewhere and those of the current
// state.
func (m *Metrics) look(ctx context.Context) error {
	set := func(n int, name string, labels ...string) {
		m.sums[series(name, labels)] = float64(n)
	}
	all, err := m.agents.Stats(ctx)
	if err != nil {
		return err
	}
	for name, n := range map[string]int{
		"detected": all.Subagents.TotalDetected, "frames": all.Subagents.FramesCreated, "skipped": all.Subagents.SkippedByHeuristics,
		"auto_completed": all.Subagents.AutoCompleted, "manually_completed": all.Subagents.ManuallyCompleted, "ended_by_host": all.Subagents.EndedByHost,
	} {
		set(n, "flame_subagent_native_"+name+"_total")
	}
	for kind, n := range map[string]int64{
		"in": all.Usage.TokensIn, "out": all.Usage.TokensOut, "cache_read": all.Usage.CacheRead, "cache_written": all.Usage.CacheWritten,
	} {
		set(int(n), "flame_tokens_total", "kind", kind)
	}
	set(int(all.Usage.ToolCalls), "flame_tool_calls_total")
	m.sums["flame_cost_usd_total"] = all.Usage.CostUSD
	for _, r := range all.Requests {
		host := m.bounded("host", r.Host)
		set(r.Requests, "flame_requests_total", "host", host)
		set(int(r.Sent), "flame_request_tokens_total", "host", host, "kind", "sent")
		set(int(r.LeftOut), "flame_request_tokens_total", "host", host, "kind", "left_out")
	}
	m.lookAtMetered(all.Metered)
	runs, err := m.agents.Running(ctx)
	if err != nil {
		return err
	}
	running := map[string]int{}
	for _, name := range m.agents.Hosts.Names() {
		running[name] = 0
	}
	for _, run := range runs {
		running[run.Host]++
	}
	for host, n := range running {
		set(n, "flame_subagent_running", "host", host)
	}
	if store, ok := m.project.Store.(project.Waiter); ok {
		m.sums["flame_store_lock_wait_seconds_total"] = store.Waited().Seconds()
	}
	return nil
}

// lookAtMetered sets the metrics of requests that gateways measured.
func (m *Metrics) lookAtMetered(all []usage.Metered) {
	for _, r := range all {
		host := m.bounded("host", r.Host)
		set := func(x float64, name string, labels ...string) {
			m.sums[series("flame_gateway_"+name, append([]string{"host", host, "class", r.Class}, labels...))] = x
		}
		set(float64(r.Requests-r.Failed), "requests_total", "outcome", "answered")
		set(float64(r.Failed), "requests_total", "outcome", "failed")
		set(float64(r.Begun), "first_token_seconds_count")
		set(float64(r.FirstSum)/1000, "first_token_seconds_sum")
		set(float64(r.FirstMax)/1000, "first_token_seconds_max")
		set(r.Usage.CostUSD, "cost_usd_total")
		set(float64(r.Given), "bytes_total", "kind", "given")
		set(float64(r.Sent), "bytes_total", "kind", "sent")
		for kind, n := range map[string]int64{
			"in": r.Usage.TokensIn, "out": r.Usage.TokensOut, "cache_read": r.Usage.CacheRead, "cache_written": r.Usage.CacheWritten,
		} {
			set(float64(n), "tokens_total", "kind", kind)
		}
	}
}
