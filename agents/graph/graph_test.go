package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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

// add adds a node; a frame where nothing else is said.
func add(t testing.TB, g *graph.Graph, n graph.Node) {
	t.Helper()
	if n.Kind == "" {
		n.Kind = graph.KindFrame
	}
	require.NoError(t, g.AddNode(n))
}

func edge(from string, kind graph.EdgeKind, to string) graph.Edge {
	return graph.Edge{From: from, To: to, Kind: kind}
}

func depends(from, to string, class graph.Class) graph.Edge {
	return graph.Edge{From: from, To: to, Kind: graph.DependsOn, Class: class}
}

func ids(nodes []graph.Node) (text string) {
	for _, n := range nodes {
		text += n.ID
	}
	return text
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edge graph.Edge
		kind error
		says string
	}{
		"a node linked to itself":          {edge("a", graph.Handoff, "a"), core.ErrInvalid, `"a" -> "a" (handoff): a node cannot be linked to itself`},
		"from a node that is not there":    {edge("x", graph.Spawned, "a"), core.ErrNotFound, `there is no node "x"`},
		"to a node that is not there":      {edge("a", graph.Spawned, "x"), core.ErrNotFound, `there is no node "x"`},
		"the same twice":                   {edge("a", graph.Spawned, "b"), core.ErrInvalid, `"a" -> "b" (spawned) is there already`},
		"the same in another class":        {depends("d", "c", graph.Soft), core.ErrInvalid, `"d" -> "c" (depends_on) is there already`},
		"a second parent":                  {edge("d", graph.Spawned, "b"), core.ErrInvalid, `"b" was started by "a" and cannot have been by "d"`},
		"a circle":                         {edge("c", graph.Spawned, "a"), core.ErrInvalid, `would close a circle: "a" before "b" before "c"`},
		"a circle of several kinds":        {edge("d", graph.DataFlow, "a"), core.ErrInvalid, `circle: "a" before "b" before "c" before "d"`},
		"waiting for what one started":     {depends("a", "c", graph.Hard), core.ErrInvalid, "circle"},
		"even where nothing is waited for": {depends("a", "c", graph.Optional), core.ErrInvalid, "circle"},
		"an unknown kind":                  {edge("a", "likes", "d"), core.ErrInvalid, `kind "likes"`},
		"a class where there is none":      {graph.Edge{From: "a", To: "d", Kind: graph.Handoff, Class: graph.Hard}, core.ErrInvalid, `class "hard"`},
		"an unknown class":                 {depends("d", "a", "perhaps"), core.ErrInvalid, `class "perhaps"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := build(t, "abcd", edge("a", graph.Spawned, "b"), edge("b", graph.Spawned, "c"), depends("d", "c", ""))
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
		"an id that is taken":    {ID: "a", Kind: graph.KindFrame},
		"a blank id":             {ID: " ", Kind: graph.KindFrame},
		"a node below itself":    {ID: "x", Kind: graph.KindFrame, Parent: "x"},
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
		edge("a", graph.Spawned, "b"), edge("a", graph.Handoff, "b"), edge("a", graph.DataFlow, "b"),
		edge("b", graph.ResumedFrom, "a"), depends("b", "a", graph.Soft))
}

func TestALongCircleIsNamedInPart(t *testing.T) {
	t.Parallel()
	g := build(t, "abcdefghijkl")
	for i := range byte(11) {
		require.NoError(t, g.Link(edge(string('a'+i), graph.DataFlow, string('b'+i))))
	}
	assert.ErrorContains(t, g.Link(edge("l", graph.DataFlow, "a")), `"a" before "b" before "c" before "d" before 4 more before "i" before "j"`)
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
	assert.Equal(t, "abcd", ids(g.Order()))
	assert.ElementsMatch(t, []graph.Edge{edge("a", graph.Spawned, "b"), edge("b", graph.Spawned, "c"), edge("c", graph.Spawned, "d")}, g.Edges())

	add(t, g, graph.Node{ID: "somebody's", Kind: graph.KindSubagent})
	check("somebody's", "", 0, true)
	require.NoError(t, g.Link(edge("a", graph.Spawned, "somebody's")))
	check("somebody's", "a", 1, false)
}

func TestParentsInACircleStayUnparented(t *testing.T) {
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

func TestTheOrderIsThatOfTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edges []graph.Edge
		want  string
	}{
		"without edges as they came":           {nil, "abcde"},
		"after what it depends on":             {[]graph.Edge{depends("a", "e", graph.Optional)}, "bcdea"},
		"after what it goes on from":           {[]graph.Edge{edge("b", graph.ResumedFrom, "d")}, "acdeb"},
		"several into one":                     {[]graph.Edge{edge("b", graph.ConvergedInto, "a"), edge("c", graph.ConvergedInto, "a")}, "bcdea"},
		"a level after the longest way to one": {[]graph.Edge{edge("e", graph.Spawned, "d"), edge("d", graph.Spawned, "a"), edge("e", graph.Handoff, "a")}, "bceda"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, ids(build(t, "abcde", tt.edges...).Order()))
			slices.Reverse(tt.edges)
			assert.Equal(t, tt.want, ids(build(t, "abcde", tt.edges...).Order()), "whatever the order of the edges")
		})
	}
}

func TestWhatComesBeforeAndAfter(t *testing.T) {
	t.Parallel()
	g := build(t, "abcdef",
		edge("a", graph.Spawned, "b"), edge("a", graph.Spawned, "c"), edge("b", graph.Spawned, "d"),
		edge("b", graph.ConvergedInto, "e"), edge("c", graph.ConvergedInto, "e"), depends("f", "e", ""))
	assert.Equal(t, "bcdef", ids(g.Descendants("a")))
	assert.Equal(t, "bcd", ids(g.Descendants("a", graph.Spawned)))
	assert.Equal(t, "ebca", ids(g.Ancestors("f")))
	assert.Equal(t, "ba", ids(g.Ancestors("d", graph.Spawned)))
	assert.Empty(t, g.Ancestors("e", graph.Spawned, graph.Handoff))
	assert.Empty(t, g.Descendants("nobody"))
}

func TestTheCriticalPathCountsNoTimeTwice(t *testing.T) {
	t.Parallel()
	const second = 1000
	tests := map[string]struct {
		nodes []graph.Node
		edges []graph.Edge
		path  string
		took  time.Duration
	}{
		"an empty graph": {nil, nil, "", 0},
		"the longer branch": {
			[]graph.Node{{ID: "a", Started: 1 * second, Ended: 3 * second}, {ID: "b", Started: 3 * second, Ended: 4 * second}, {ID: "c", Started: 3 * second, Ended: 9 * second}, {ID: "d", Started: 9 * second, Ended: 10 * second}},
			[]graph.Edge{edge("a", graph.DataFlow, "b"), edge("a", graph.DataFlow, "c"), depends("d", "b", ""), depends("d", "c", "")},
			"acd", 9 * time.Second,
		},
		"a parent that waits counts until its child began": {
			[]graph.Node{{ID: "a", Started: 1 * second, Ended: 20 * second}, {ID: "b", Started: 5 * second, Ended: 30 * second}},
			[]graph.Edge{edge("a", graph.Spawned, "b")},
			"ab", 29 * time.Second,
		},
		"a parent that outlives its children is the path": {
			[]graph.Node{{ID: "a", Started: 1 * second, Ended: 20 * second}, {ID: "b", Started: 5 * second, Ended: 6 * second}},
			[]graph.Edge{edge("a", graph.Spawned, "b")},
			"a", 19 * time.Second,
		},
		"what still runs counts until what came after": {
			[]graph.Node{{ID: "a", Started: 1 * second}, {ID: "b", Started: 5 * second, Ended: 6 * second}},
			[]graph.Edge{edge("a", graph.Spawned, "b")},
			"ab", 5 * time.Second,
		},
		"times that cannot be count for nothing": {
			[]graph.Node{{ID: "a", Started: 9 * second, Ended: 2 * second}, {ID: "b", Started: 5 * second, Ended: 6 * second}},
			[]graph.Edge{edge("a", graph.Spawned, "b")},
			"ab", time.Second,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &graph.Graph{}
			for _, n := range tt.nodes {
				add(t, g, n)
			}
			for _, e := range tt.edges {
				require.NoError(t, g.Link(e))
			}
			path, took := g.CriticalPath()
			assert.Equal(t, tt.path, ids(path))
			assert.Equal(t, tt.took, took)
		})
	}
}

func TestTotalsAreThoseOfTheTreeBelow(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{}
	for i, n := range []graph.Node{{ID: "d", Parent: "b"}, {ID: "a"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "a"}} {
		n.Usage = core.Usage{TokensIn: 1 << i, CostUSD: 0.5}
		add(t, g, n)
	}
	require.NoError(t, g.Link(edge("d", graph.DataFlow, "c")))
	assert.Equal(t, map[string]core.Usage{
		"a": {TokensIn: 15, CostUSD: 2}, "b": {TokensIn: 5, CostUSD: 1}, "c": {TokensIn: 8, CostUSD: 0.5}, "d": {TokensIn: 1, CostUSD: 0.5},
	}, g.Totals())
}

// Whatever is linked, there is no cycle; and what is refused as one would have
// been one.
func TestRandomLinksNeverGiveACircle(t *testing.T) {
	t.Parallel()
	kinds := []graph.EdgeKind{graph.Spawned, graph.Handoff, graph.ConvergedInto, graph.DependsOn, graph.ResumedFrom, graph.DataFlow}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		const nodes = "abcdefghijklmno"
		g := build(t, nodes)
		name := func() string { return string(nodes[random.IntN(len(nodes))]) }
		for range 80 {
			e := edge(name(), kinds[random.IntN(len(kinds))], name())
			before := g.Edges()
			err := g.Link(e)
			_, circle := inTime(nodes, append(slices.Clone(before), e))
			switch {
			case err == nil:
				require.False(t, circle, "seed %d: %v after %v", seed, e, before)
			case e.From != e.To && !hasEdge(before, e) && !(e.Kind == graph.Spawned && hasParent(before, e.To)):
				require.True(t, circle, "seed %d: %v after %v: %v", seed, e, before, err)
			}
		}
		order := ids(g.Order())
		places, circle := inTime(order, g.Edges())
		require.False(t, circle)
		require.Len(t, order, len(nodes))
		require.True(t, places, "seed %d: %s is not in order", seed, order)
	}
}

func hasEdge(edges []graph.Edge, e graph.Edge) bool {
	return slices.ContainsFunc(edges, func(o graph.Edge) bool { return o.From == e.From && o.To == e.To && o.Kind == e.Kind })
}

func hasParent(edges []graph.Edge, id string) bool {
	return slices.ContainsFunc(edges, func(o graph.Edge) bool { return o.Kind == graph.Spawned && o.To == id })
}

// inTime reports whether nodes stand in the order of these edges, and whether the
// edges form a cycle: by taking away, again and again, what nothing is before.
func inTime(nodes string, edges []graph.Edge) (ordered, circle bool) {
	place := map[string]int{}
	for i, id := range nodes {
		place[string(id)] = i
	}
	ordered = true
	left := edges
	for i, e := range left {
		if e.Kind == graph.DependsOn || e.Kind == graph.ResumedFrom {
			left[i].From, left[i].To = e.To, e.From
		}
		ordered = ordered && place[left[i].From] < place[left[i].To]
	}
	for {
		second := map[string]bool{}
		for _, e := range left {
			second[e.To] = true
		}
		kept := slices.DeleteFunc(slices.Clone(left), func(e graph.Edge) bool { return !second[e.From] })
		if len(kept) == len(left) {
			return ordered, len(left) > 0
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
			assert.Len(t, g.Ancestors(last.ID), n-1)
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
