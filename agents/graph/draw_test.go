package graph_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/core"
)

var update = flag.Bool("update", false, "write the golden files")

// drawn is a graph with every kind of node and edge, whose texts do what they can
// to break a drawing.
func drawn(t *testing.T) *graph.Graph {
	return build([]graph.Node{
		{ID: "late", Kind: graph.KindSubagent, Parent: "s", Label: "came before its parent", Status: "completed", AgentType: "tester", Model: "m"},
		{ID: "s", Kind: graph.KindSession, Label: "Do it", Status: "active", Started: 1, Usage: core.Usage{TokensIn: 10, TokensOut: 5, CostUSD: 0.25}},
		{ID: `a"]` + "\n  evil\x1b --> s", Kind: graph.KindSubagent, Parent: "s", Label: "\"]; s -> x\n`</b>`\x1b[31m \\", Status: "error\nforged", AgentType: "x|y"},
		{ID: "below", Kind: graph.KindSession, Parent: "late", Label: strings.Repeat("long ", 40), Frame: "frame-1"},
		{ID: "c", Kind: graph.KindConvergence},
		{ID: "lost", Kind: graph.KindSubagent, Parent: "nobody", Status: "orphaned"},
	},
		edge("late", graph.ConvergedInto, "c"), edge(`a"]`+"\n  evil\x1b --> s", graph.ConvergedInto, "c"),
		edge("lost", graph.ResumedFrom, "late"), edge("late", graph.Handoff, "lost"), edge("s", graph.ConvergedInto, "c"),
	)
}

func TestGraphsAreDrawn(t *testing.T) {
	for _, format := range graph.Formats() {
		t.Run(format, func(t *testing.T) {
			var b, again bytes.Buffer
			require.NoError(t, graph.Draw(&b, drawn(t), format))
			require.NoError(t, graph.Draw(&again, drawn(t), format))
			assert.Equal(t, b.String(), again.String())
			matches(t, "drawn."+format, b.String())
		})
	}
	assert.ErrorIs(t, graph.Draw(&bytes.Buffer{}, drawn(t), "png"), core.ErrInvalid)
}

func TestAnEmptyGraphIsDrawn(t *testing.T) {
	var b strings.Builder
	require.NoError(t, graph.Draw(&b, build(nil), "json"))
	assert.JSONEq(t, `{"nodes": [], "edges": []}`, b.String())
}

func TestADeepTreeIsCutAndCounted(t *testing.T) {
	const n = 10_000
	g := build(chain(n))
	var b strings.Builder
	require.NoError(t, graph.Draw(&b, g, "tree"))
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	assert.Len(t, lines, 102)
	assert.Equal(t, fmt.Sprintf("└── … and %d below", n-101), strings.TrimSpace(lines[101]))
	b.Reset()
	require.NoError(t, graph.Draw(&b, g, "json"))
	var all struct{ Nodes, Edges []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(b.String()), &all))
	assert.Len(t, all.Nodes, n)
	assert.Len(t, all.Edges, n-1)
}

func TestTrailsAreDrawn(t *testing.T) {
	told := graph.LogGraph{Nodes: []graph.LogNode{
		{ID: "s", Kind: graph.KindSession, State: "active", Prompt: "Do it"},
		{
			ID: "a", Kind: graph.KindSubagent, Parent: "s", State: "completed", Type: "Explore", Description: `say "hi"` + "\n\\ --> n0",
			Usage: core.Usage{TokensIn: 10, TokensOut: 2, CostUSD: 0.5},
		},
		{ID: "b", Kind: graph.KindSubagent, Parent: "s", State: "error", Description: "fail"},
		{ID: "late", Kind: graph.KindSubagent, Unparented: true, State: "active", Description: "somebody's"},
	}}
	for _, format := range []string{"tree", "dot", "mermaid"} {
		var b strings.Builder
		require.NoError(t, told.Draw(&b, format))
		matches(t, "trail."+format, b.String())
	}
	var b strings.Builder
	require.NoError(t, told.Draw(&b, "json"))
	var read graph.LogGraph
	require.NoError(t, json.Unmarshal([]byte(b.String()), &read))
	assert.Equal(t, told, read)
	assert.ErrorIs(t, told.Draw(&b, "png"), core.ErrInvalid)
}

func TestAgentsThatShareAnIDAreAllDrawn(t *testing.T) {
	told := graph.LogGraph{Nodes: []graph.LogNode{
		{ID: "call_1", Kind: graph.KindSubagent, Session: "s1", State: "initializing", Description: "one"},
		{ID: "call_1", Kind: graph.KindSubagent, Session: "s2", State: "initializing", Description: "two"},
	}}
	var b strings.Builder
	require.NoError(t, told.Draw(&b, "dot"))
	assert.Contains(t, b.String(), "one")
	assert.Contains(t, b.String(), "two")
}
