package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/tools"
)

func TestMetricsComeFromTheEventLog(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tell := func(kind string, data map[string]any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		require.NoError(t, p.Store.Update(t.Context(), func(tx project.Tx) error {
			_, err := tx.AppendEvent(core.Event{V: 1, TS: 1, Event: kind, Host: "claude-code", Depth: 2, Data: raw})
			return err
		}))
	}
	m := tools.NewMetrics(p, &agents.Agents{Setup: plan.Setup{Project: p}})
	scrape := func() string {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Equal(t, http.StatusOK, w.Code)
		return w.Body.String()
	}
	tell(core.SubagentSpawned, map[string]any{"agent_type": "tester"})
	tell(core.PermissionDecision, map[string]any{"agent_type": "tester", "permission_mode": map[string]any{"effective": "plan", "cappedBy": "parent"}})
	assert.Contains(t, scrape(), `flame_subagent_spawned_total{agent_type="tester",host="claude-code"} 1`)
	tell(core.SubagentStop, map[string]any{"agent_type": "tester", "outcome": "timeout", "tokens": 120, "costUSD": 0.5, "duration_ms": 1500, "model": "m"})
	tell(core.SubagentSpawned, map[string]any{"agent_type": "tester\"} 1\nevil 9"})
	text := scrape()
	for _, line := range []string{
		`flame_subagent_spawned_total{agent_type="tester",host="claude-code"} 1`,
		`flame_subagent_stopped_total{agent_type="tester",host="claude-code",outcome="timeout"} 1`,
		`flame_subagent_duration_seconds_sum{agent_type="tester"} 1.5`,
		`flame_subagent_tokens_total{agent_type="tester",host="claude-code",model="m",depth="2"} 120`,
		`flame_subagent_cost_usd_total{agent_type="tester",host="claude-code",model="m",depth="2"} 0.5`,
		`flame_subagent_permission_escalations_total{agent_type="tester"} 1`,
		`flame_subagent_native_detected_total 0`,
	} {
		assert.Contains(t, text, line)
	}
	assert.Regexp(t, `flame_store_lock_wait_seconds_total \S*[1-9]`, text)
	for n := range 300 {
		tell(core.SubagentSpawned, map[string]any{"agent_type": fmt.Sprint("kind", n)})
	}
	many := scrape()
	assert.Less(t, strings.Count(many, "flame_subagent_spawned_total"), 105, "labels are bounded")
	assert.Contains(t, many, `flame_subagent_spawned_total{agent_type="other",host="claude-code"} `)
	assert.NotContains(t, text, "\nevil 9", "text of others cannot pose as a metric")
}
