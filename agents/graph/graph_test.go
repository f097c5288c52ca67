package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/core"
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
func build(t testing.TB, nodes []graph.Node, links ...graph.Edge) *graph.Graph {
	t.Helper()
	g, err := graph.New(nodes, links)
	require.NoError(t, err)
	return g
}

func edge(from string, kind graph.EdgeKind, to string) graph.Edge {
	return graph.Edge{From: from, To: to, Kind: kind}
}

func TestImpossibleLinksAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		link graph.Edge
		kind error
		says string
	}{
		"a node linked to itself":           {edge("a", graph.Handoff, "a"), core.ErrInvalid, `"a" -> "a" (handoff): a node cannot be linked to itself`},
		"from a missing node":               {edge("x", graph.Handoff, "a"), core.ErrNotFound, `there is no node "x"`},
		"to a missing node":                 {edge("a", graph.Handoff, "x"), core.ErrNotFound, `there is no node "x"`},
		"the same link twice":               {edge("d", graph.ResumedFrom, "c"), core.ErrInvalid, `"d" -> "c" (resumed_from) exists twice`},
		"a cycle":                           {edge("c", graph.Handoff, "a"), core.ErrInvalid, `the nodes form a cycle: "a" before "b" before "c" before "a"`},
		"a cycle of several kinds":          {edge("d", graph.ConvergedInto, "a"), core.ErrInvalid, `"a" before "b" before "c" before "d" before "a"`},
		"resuming an agent that it started": {edge("a", graph.ResumedFrom, "c"), core.ErrInvalid, "cycle"},
		"a parent":                          {edge("a", graph.Spawned, "d"), core.ErrInvalid, `kind "spawned"`},
		"an unknown kind":                   {edge("a", "likes", "d"), core.ErrInvalid, `kind "likes"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []graph.Node{subagent("a", ""), subagent("b", "a"), subagent("c", "b"), subagent("d", "")}
			_, err := graph.New(nodes, []graph.Edge{edge("d", graph.ResumedFrom, "c"), tt.link})
			require.ErrorIs(t, err, tt.kind)
			assert.ErrorContains(t, err, tt.says)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.NotEmpty(t, problem.Hint)
		})
	}
}

func TestImpossibleNodesAreRefused(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]graph.Node{
		"an id that is taken":    {ID: "a", Kind: graph.KindSession},
		"a blank id":             {ID: " ", Kind: graph.KindSession},
		"a node below itself":    {ID: "x", Kind: graph.KindSession, Parent: "x"},
		"a node of unknown kind": {ID: "x", Kind: "robot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := graph.New(append(sessions("a"), n), nil)
			assert.ErrorIs(t, err, core.ErrInvalid)
		})
	}
}

func TestALongCycleIsNamedInPart(t *testing.T) {
	t.Parallel()
	links := []graph.Edge{edge("l", graph.ConvergedInto, "a")}
	for i := range byte(11) {
		links = append(links, edge(string('a'+i), graph.ConvergedInto, string('b'+i)))
	}
	_, err := graph.New(sessions("abcdefghijkl"), links)
	assert.ErrorContains(t, err, `"a" before "b" before "c" before "d" before 5 more before "j" before "k" before "l" before "a"`)
}

func TestParentsMayComeAfterTheirChildren(t *testing.T) {
	t.Parallel()
	nodes := []graph.Node{subagent("c", "b"), subagent("d", "c"), subagent("b", "a"), subagent("lost", "x"), subagent("started", "")}
	g := build(t, append(nodes, sessions("a")...))
	for id, want := range map[string][]any{
		"a": {"", 0, false}, "b": {"a", 1, false}, "c": {"b", 2, false}, "d": {"c", 3, false}, "lost": {"x", 0, true}, "started": {"", 0, true},
	} {
		n, _ := lo.Find(g.Nodes, func(n graph.Node) bool { return n.ID == id })
		assert.Equal(t, want, []any{n.Parent, n.Depth, n.Unparented}, id)
	}
	assert.Equal(t, []graph.Edge{edge("b", graph.Spawned, "c"), edge("c", graph.Spawned, "d"), edge("a", graph.Spawned, "b")}, g.Edges)
}

func TestOneParentInACycleIsLeftOut(t *testing.T) {
	t.Parallel()
	g := build(t, []graph.Node{subagent("a", "b"), subagent("b", "a")})
	assert.Equal(t, []graph.Edge{edge("b", graph.Spawned, "a")}, g.Edges)
	assert.Equal(t, []bool{false, true}, []bool{g.Nodes[0].Unparented, g.Nodes[1].Unparented})
}

func TestRandomLinksAreRefusedExactlyIfTheyFormACycle(t *testing.T) {
	t.Parallel()
	kinds := []graph.EdgeKind{graph.Handoff, graph.ConvergedInto, graph.ResumedFrom}
	cycles := map[bool]int{}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		const ids = "abcdefghijklmno"
		name := func() string { return string(ids[random.IntN(len(ids))]) }
		nodes := sessions(ids)
		for range 5 {
			if n := &nodes[random.IntN(len(nodes))]; n.ID != "a" {
				n.Parent = "a"
			}
		}
		var links []graph.Edge
		for range random.IntN(15) {
			if e := edge(name(), kinds[random.IntN(len(kinds))], name()); e.From != e.To && !slices.Contains(links, e) {
				links = append(links, e)
			}
		}
		all := slices.Clone(links)
		for _, n := range nodes {
			if n.Parent != "" {
				all = append(all, edge(n.Parent, graph.Spawned, n.ID))
			}
		}
		cycle := hasCycle(all)
		cycles[cycle]++
		_, err := graph.New(nodes, links)
		require.Equal(t, cycle, err != nil, "seed %d: %v: %v", seed, all, err)
	}
	assert.Greater(t, min(cycles[true], cycles[false]), 50, "both must occur")
}

// hasCycle reports whether edges form a cycle in time: it removes, again and again, the edges
// whose first node has no node before it.
func hasCycle(edges []graph.Edge) bool {
	left := edges
	for i, e := range left {
		if e.Kind == graph.ResumedFrom {
			left[i].From, left[i].To = e.To, e.From
		}
	}
	for {
		second := map[string]bool{}
		for _, e := range left {
			second[e.To] = true
		}
		kept := slices.DeleteFunc(slices.Clone(left), func(e graph.Edge) bool { return !second[e.From] })
		if len(kept) == len(left) {
			return len(left) > 0
		}
		left = kept
	}
}

// chainOrders are orders in which the nodes of a chain may come.
var chainOrders = map[string]func(n int) []int{
	"from its beginning": func(n int) []int { return lo.Range(n) },
	"from its end":       func(n int) []int { return lo.RangeWithSteps(n-1, -1, -1) },
	"at random":          func(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) },
}

// chain returns n nodes, each below the previous one, in an order.
func chain(n int, order []int) []graph.Node {
	return lo.Map(order, func(i, _ int) graph.Node {
		if i == 0 {
			return subagent("0", "")
		}
		return subagent(fmt.Sprint(i), fmt.Sprint(i-1))
	})
}

func TestALongChainIsAnOrdinaryGraph(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for name, order := range chainOrders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := chain(n, order(n))
			_, err := graph.New(nodes, []graph.Edge{edge(fmt.Sprint(n-1), graph.Handoff, "0")})
			assert.ErrorIs(t, err, core.ErrInvalid)
			assert.Equal(t, n-1, lo.MaxBy(build(t, nodes).Nodes, func(a, b graph.Node) bool { return a.Depth > b.Depth }).Depth)
		})
	}
}
