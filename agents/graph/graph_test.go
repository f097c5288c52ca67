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

// build makes a graph of these nodes, which are named by their ids alone, and
// links them.
func build(t testing.TB, ids string, edges ...graph.Edge) *graph.Graph {
	t.Helper()
	g := &graph.Graph{}
	for _, id := range ids {
		add(t, g, graph.Node{ID: string(id)})
	}
	for _, e := range edges {
		require.NoError(t, g.Link(e))
	}
	return g
}

// add adds a node; a session where nothing else is said.
func add(t testing.TB, g *graph.Graph, n graph.Node) {
	t.Helper()
	if n.Kind == "" {
		n.Kind = graph.KindSession
	}
	require.NoError(t, g.AddNode(n))
}

func edge(from string, kind graph.EdgeKind, to string) graph.Edge {
	return graph.Edge{From: from, To: to, Kind: kind}
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edge graph.Edge
		kind error
		says string
	}{
		"a node linked to itself":        {edge("a", graph.Handoff, "a"), core.ErrInvalid, `"a" -> "a" (handoff): a node cannot be linked to itself`},
		"from a node that is not there":  {edge("x", graph.Spawned, "a"), core.ErrNotFound, `there is no node "x"`},
		"to a node that is not there":    {edge("a", graph.Spawned, "x"), core.ErrNotFound, `there is no node "x"`},
		"the same twice":                 {edge("a", graph.Spawned, "b"), core.ErrInvalid, `"a" -> "b" (spawned) exists already`},
		"a second parent":                {edge("d", graph.Spawned, "b"), core.ErrInvalid, `"b" was started by "a" and cannot have been started by "d"`},
		"a cycle":                        {edge("c", graph.Spawned, "a"), core.ErrInvalid, `would close a cycle: "a" before "b" before "c"`},
		"a cycle of several kinds":       {edge("d", graph.ConvergedInto, "a"), core.ErrInvalid, `cycle: "a" before "b" before "c" before "d"`},
		"going on from what one started": {edge("a", graph.ResumedFrom, "c"), core.ErrInvalid, "cycle"},
		"an unknown kind":                {edge("a", "likes", "d"), core.ErrInvalid, `kind "likes"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := build(t, "abcd", edge("a", graph.Spawned, "b"), edge("b", graph.Spawned, "c"), edge("d", graph.ResumedFrom, "c"))
			before := g.Edges()
			err := g.Link(tt.edge)
			require.ErrorIs(t, err, tt.kind)
			assert.ErrorContains(t, err, tt.says)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.NotEmpty(t, problem.Hint)
			assert.Equal(t, before, g.Edges())
		})
	}
}

func TestNodesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]graph.Node{
		"an id that is taken":    {ID: "a", Kind: graph.KindSession},
		"a blank id":             {ID: " ", Kind: graph.KindSession},
		"a node below itself":    {ID: "x", Kind: graph.KindSession, Parent: "x"},
		"a node of unknown kind": {ID: "x", Kind: "robot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := build(t, "a")
			assert.ErrorIs(t, g.AddNode(n), core.ErrInvalid)
			assert.Len(t, g.Nodes(), 1)
		})
	}
}

func TestTwoNodesMayBeLinkedInSeveralWays(t *testing.T) {
	t.Parallel()
	build(t, "ab",
		edge("a", graph.Spawned, "b"), edge("a", graph.Handoff, "b"), edge("a", graph.ConvergedInto, "b"),
		edge("b", graph.ResumedFrom, "a"))
}

func TestALongCycleIsNamedInPart(t *testing.T) {
	t.Parallel()
	g := build(t, "abcdefghijkl")
	for i := range byte(11) {
		require.NoError(t, g.Link(edge(string('a'+i), graph.ConvergedInto, string('b'+i))))
	}
	assert.ErrorContains(t, g.Link(edge("l", graph.ConvergedInto, "a")), `"a" before "b" before "c" before "d" before 4 more before "i" before "j"`)
}

func TestLateParentsAdopt(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{}
	add(t, g, graph.Node{ID: "c", Kind: graph.KindSubagent, Parent: "b"})
	add(t, g, graph.Node{ID: "d", Kind: graph.KindSubagent, Parent: "c"})
	at := func(id string) (parent string, depth int, unparented bool) {
		n, ok := g.Node(id)
		require.True(t, ok)
		assert.Contains(t, g.Nodes(), n)
		return n.Parent, n.Depth, n.Unparented
	}
	check := func(id, wantParent string, wantDepth int, wantUnparented bool) {
		t.Helper()
		parent, depth, unparented := at(id)
		assert.Equal(t, []any{wantParent, wantDepth, wantUnparented}, []any{parent, depth, unparented}, id)
	}
	check("c", "b", 0, true)
	check("d", "c", 1, false)
	require.ErrorIs(t, g.Link(edge("d", graph.Spawned, "c")), core.ErrInvalid, "its parent is known by name")

	add(t, g, graph.Node{ID: "b", Kind: graph.KindSubagent, Parent: "a"})
	check("b", "a", 0, true)
	check("c", "b", 1, false)
	add(t, g, graph.Node{ID: "a", Kind: graph.KindSession})
	check("a", "", 0, false)
	check("d", "c", 3, false)
	assert.ElementsMatch(t, []graph.Edge{edge("a", graph.Spawned, "b"), edge("b", graph.Spawned, "c"), edge("c", graph.Spawned, "d")}, g.Edges())

	add(t, g, graph.Node{ID: "somebody's", Kind: graph.KindSubagent})
	check("somebody's", "", 0, true)
	require.NoError(t, g.Link(edge("a", graph.Spawned, "somebody's")))
	check("somebody's", "a", 1, false)
}

func TestParentsInACycleStayUnparented(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{}
	add(t, g, graph.Node{ID: "a", Kind: graph.KindSubagent, Parent: "b"})
	add(t, g, graph.Node{ID: "b", Kind: graph.KindSubagent, Parent: "a"})
	assert.Equal(t, []graph.Edge{edge("a", graph.Spawned, "b")}, g.Edges())
	a, _ := g.Node("a")
	assert.True(t, a.Unparented)
	_, known := g.Node("c")
	assert.False(t, known)
}

// Whatever is linked, there is no cycle; and what is refused as one would have
// been one.
func TestRandomLinksNeverGiveACycle(t *testing.T) {
	t.Parallel()
	kinds := []graph.EdgeKind{graph.Spawned, graph.Handoff, graph.ConvergedInto, graph.ResumedFrom}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		const nodes = "abcdefghijklmno"
		g := build(t, nodes)
		name := func() string { return string(nodes[random.IntN(len(nodes))]) }
		for range 80 {
			e := edge(name(), kinds[random.IntN(len(kinds))], name())
			before := g.Edges()
			err := g.Link(e)
			cycle := hasCycle(append(slices.Clone(before), e))
			switch {
			case err == nil:
				require.False(t, cycle, "seed %d: %v after %v", seed, e, before)
			case e.From != e.To && !hasEdge(before, e) && !(e.Kind == graph.Spawned && hasParent(before, e.To)):
				require.True(t, cycle, "seed %d: %v after %v: %v", seed, e, before, err)
			}
		}
	}
}

func hasEdge(edges []graph.Edge, e graph.Edge) bool {
	return slices.ContainsFunc(edges, func(o graph.Edge) bool { return o.From == e.From && o.To == e.To && o.Kind == e.Kind })
}

func hasParent(edges []graph.Edge, id string) bool {
	return slices.ContainsFunc(edges, func(o graph.Edge) bool { return o.Kind == graph.Spawned && o.To == id })
}

// hasCycle reports whether edges form a cycle in time: by taking away, again and
// again, what nothing is before.
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

// chainOrders are ways in which the links of a chain may come.
var chainOrders = map[string]func(n int) []int{
	"from its beginning": func(n int) []int { return lo.Range(n) },
	"from its end":       func(n int) []int { return lo.RangeWithSteps(n-1, -1, -1) },
	"at random":          func(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) },
}

// linkChain links n nodes to a chain.
func linkChain(t testing.TB, n int, order []int) *graph.Graph {
	g := &graph.Graph{}
	for i := range n {
		add(t, g, graph.Node{ID: fmt.Sprint(i), Kind: graph.KindSubagent})
	}
	for _, i := range order {
		require.NoError(t, g.Link(edge(fmt.Sprint(i), graph.Spawned, fmt.Sprint(i+1))))
	}
	return g
}

func TestALongChainIsAGraphLikeAnother(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for name, order := range chainOrders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := linkChain(t, n, order(n-1))
			assert.ErrorIs(t, g.Link(edge(fmt.Sprint(n-1), graph.Handoff, "0")), core.ErrInvalid)
			last, _ := g.Node(fmt.Sprint(n - 1))
			assert.Equal(t, n-1, last.Depth)
		})
	}
}

func BenchmarkChain(b *testing.B) {
	const n = 10_000
	for name, order := range chainOrders {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				linkChain(b, n, order(n-1))
			}
		})
	}
}
