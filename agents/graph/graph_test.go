package graph_test

import (
	"fmt"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"

	"flame/agents/graph"
)

// sessions returns sessions with these ids of one letter.
func sessions(ids string) (nodes []graph.Node) {
	for _, id := range ids {
		nodes = append(nodes, graph.Node{ID: string(id), Kind: graph.KindSession})
	}
	return nodes
}

// subagent returns a subagent with a parent.
func subagent(id, parent string) graph.Node {
	return graph.Node{ID: id, Kind: graph.KindSubagent, Parent: parent}
}

// build returns the graph of nodes and links.
func build(nodes []graph.Node, links ...graph.Edge) *graph.Graph {
	return graph.New(nodes, links)
}

func edge(from string, kind graph.EdgeKind, to string) graph.Edge {
	return graph.Edge{From: from, To: to, Kind: kind}
}

func TestWhatHasNoPlaceIsLeftOut(t *testing.T) {
	nodes := []graph.Node{subagent("a", ""), subagent("b", "a"), {ID: "a", Kind: graph.KindSession}, {Kind: graph.KindSession}, subagent("c", "c")}
	links := []graph.Edge{
		edge("b", graph.ResumedFrom, "a"), edge("b", graph.ResumedFrom, "a"), edge("a", graph.Handoff, "a"), edge("x", graph.Handoff, "a"),
		edge("a", graph.Handoff, "x"), edge("b", graph.ConvergedInto, "a"),
	}
	g := build(nodes, links...)
	assert.Equal(t, []string{"a", "b", "c"}, lo.Map(g.Nodes, func(n graph.Node, _ int) string { return n.ID }))
	assert.Equal(t, graph.KindSubagent, g.Nodes[0].Kind, "the first of an id")
	assert.True(t, g.Nodes[2].Unparented, "nothing starts itself")
	assert.Equal(t, []graph.Edge{edge("a", graph.Spawned, "b"), edge("b", graph.ResumedFrom, "a"), edge("b", graph.ConvergedInto, "a")}, g.Edges)
}

func TestParentsMayComeAfterTheirChildren(t *testing.T) {
	nodes := []graph.Node{subagent("c", "b"), subagent("d", "c"), subagent("b", "a"), subagent("lost", "x"), subagent("started", "")}
	g := build(append(nodes, sessions("a")...))
	for id, want := range map[string][]any{
		"a": {"", 0, false}, "b": {"a", 1, false}, "c": {"b", 2, false}, "d": {"c", 3, false}, "lost": {"x", 0, true}, "started": {"", 0, true},
	} {
		n, _ := lo.Find(g.Nodes, func(n graph.Node) bool { return n.ID == id })
		assert.Equal(t, want, []any{n.Parent, n.Depth, n.Unparented}, id)
	}
	assert.Equal(t, []graph.Edge{edge("b", graph.Spawned, "c"), edge("c", graph.Spawned, "d"), edge("a", graph.Spawned, "b")}, g.Edges)
}

// chain returns n nodes, each below the one after it, but for the last.
func chain(n int) []graph.Node {
	return lo.Times(n, func(i int) graph.Node { return subagent(fmt.Sprint(i), lo.Ternary(i == n-1, "", fmt.Sprint(i+1))) })
}
