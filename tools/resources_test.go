package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/tools"
)

// subscribe asks for news of a resource, and returns the words of a refusal. The client's
// own way is for a protocol that flame does not offer.
func (c *conversation) subscribe(method mcp.MCPMethod, uri string) (refusal string) {
	answer, err := c.GetTransport().SendRequest(c.ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(project.NewID("subscribe")), Method: string(method), Params: map[string]any{"uri": uri},
	})
	require.NoError(c.t, err)
	if answer.Error == nil {
		return ""
	}
	return answer.Error.Message
}

func TestClientsCanOnlySubscribeToExistingResources(t *testing.T) {
	c := delegate(t)
	_, text := c.call("flame_push", `{"goal": "work"}`)
	frame := strings.Fields(text)[1]
	agent, _ := c.spawn("all of it", `, "background": false`)
	for name, tt := range map[string]struct{ uri, refusal string }{
		"the tree":                           {"flame://tree", ""},
		"a frame":                            {"flame://frame/" + frame, ""},
		"a frame's context":                  {"flame://context/" + frame, ""},
		"a frame by the beginning of its id": {"flame://frame/" + frame[:len(frame)-1], ""},
		"a frame by its session":             {"flame://context/s", ""},
		"an agent":                           {"flame://agent/" + agent, ""},
		"no frame":                           {"flame://frame/nothing", `frame "nothing" not found (the latest are `},
		"no frame's context":                 {"flame://context/nothing", `frame "nothing" not found`},
		"no agent":                           {"flame://agent/nothing", `there is no agent "nothing"`},
		"a frame as an agent":                {"flame://agent/" + frame, "there is no agent"},
		"a frame without its id":             {"flame://frame/", "there is no resource"},
		"a frame with a blank id":            {"flame://frame/ ", "there is no resource"},
		"what is below a frame":              {"flame://frame/" + frame + "/log", "there is no resource"},
		"all frames":                         {"flame://frame", "there is no resource"},
		"an unknown kind":                    {"flame://secret/" + frame, "flame://tree, or to flame://frame/ID"},
		"a tree in other letters":            {"FLAME://tree", "there is no resource"},
		"a tree with a question":             {"flame://tree?x", "there is no resource"},
		"a file":                             {"file:///etc/passwd", "there is no resource"},
		"what steers a terminal":             {"\x1b]0;x\x07", "there is no resource"},
		"a very long id":                     {"flame://frame/" + strings.Repeat("x", 300), "more than 256 bytes"},
		"a frame with a very long address":   {"flame://frame/" + frame + strings.Repeat(" ", 300), "more than 256 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := c.subscribe(mcp.MethodResourcesSubscribe, tt.uri)
			if tt.refusal == "" {
				assert.Empty(t, refusal)
				return
			}
			assert.Contains(t, refusal, tt.refusal)
			assert.NotContains(t, refusal, "\x1b")
			assert.Less(t, len(refusal), 1000)
		})
	}
}

func TestMetricsComeFromTheEventLog(t *testing.T) {
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
