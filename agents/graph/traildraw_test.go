package graph_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/core"
)

func TestTrailsAreDrawn(t *testing.T) {
	t.Parallel()
	told := graph.Trail{Nodes: []graph.LogNode{
		{ID: "s", Kind: graph.KindSession, State: "active", Prompt: "Do it"},
		{
			ID: "a", Kind: graph.KindSubagent, Parent: "s", State: "completed", Type: "Explore", Description: `say "hi"` + "\n\\ --> n0",
			Usage: core.Usage{TokensIn: 10, TokensOut: 2, CostUSD: 0.5},
		},
		{ID: "b", Kind: graph.KindSubagent, Parent: "s", State: "error", Description: "fail"},
		{ID: "late", Kind: graph.KindSubagent, Unparented: true, State: "active", Description: "somebody's"},
	}}
	tests := map[string]string{
		"tree": `Do it [s] active
├── say "hi" \ --> n0 (@Explore) [a] completed 12 tokens $0.5000
└── fail [b] error
somebody's [late] active (started by an unknown agent)
`,
		"dot": `digraph agents {
  node [shape=box]
  "s" [label="Do it\nactive"]
  "a" [label="say \"hi\" \\ --> n0 (@Explore)\ncompleted"]
  "b" [label="fail\nerror"]
  "late" [label="somebody's\nactive"]
  "s" -> "a"
  "s" -> "b"
}
`,
		"mermaid": `flowchart TD
  n0["Do it, active"]
  n1["say #34;hi#34; #92; --#62; n0 #40;@Explore#41;, completed"]
  n2["fail, error"]
  n3["somebody's, active"]
  n0 --> n1
  n0 --> n2
`,
	}
	for format, want := range tests {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			require.NoError(t, told.Draw(&b, format))
			assert.Equal(t, want, b.String())
		})
	}
	var b strings.Builder
	require.NoError(t, told.Draw(&b, "json"))
	var read graph.Trail
	require.NoError(t, json.Unmarshal([]byte(b.String()), &read))
	assert.Equal(t, told, read)
	assert.ErrorIs(t, told.Draw(&b, "png"), core.ErrInvalid)
}

func TestAgentsThatShareAnIDAreAllDrawn(t *testing.T) {
	t.Parallel()
	told := graph.Trail{Nodes: []graph.LogNode{
		{ID: "call_1", Kind: graph.KindSubagent, Session: "s1", State: "initializing", Description: "one"},
		{ID: "call_1", Kind: graph.KindSubagent, Session: "s2", State: "initializing", Description: "two"},
	}}
	var b strings.Builder
	require.NoError(t, told.Draw(&b, "dot"))
	assert.Contains(t, b.String(), "one")
	assert.Contains(t, b.String(), "two")
}
