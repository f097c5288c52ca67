package graph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
)

func TestReadyIsWhatNeedNotWait(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		statuses []string // of a, b, …; the last is that which may be ready
		edges    []graph.Edge
		ready    bool
	}{
		"nothing to wait for":              {[]string{"planned"}, nil, true},
		"it has begun":                     {[]string{"in_progress"}, nil, false},
		"it is over":                       {[]string{"invalidated"}, nil, false},
		"hard, completed":                  {[]string{"completed", "planned"}, []graph.Edge{depends("b", "a", graph.Hard)}, true},
		"hard by default, failed":          {[]string{"failed", "planned"}, []graph.Edge{depends("b", "a", "")}, false},
		"hard, of two one is not done":     {[]string{"completed", "active", "planned"}, []graph.Edge{depends("c", "a", graph.Hard), depends("c", "b", graph.Hard)}, false},
		"soft, failed":                     {[]string{"failed", "planned"}, []graph.Edge{depends("b", "a", graph.Soft)}, true},
		"soft, running":                    {[]string{"active", "planned"}, []graph.Edge{depends("b", "a", graph.Soft)}, false},
		"optional, not begun":              {[]string{"planned", "planned"}, []graph.Edge{depends("b", "a", graph.Optional)}, true},
		"one trigger of two":               {[]string{"completed", "active", "planned"}, []graph.Edge{depends("c", "a", graph.Trigger), depends("c", "b", graph.Trigger)}, true},
		"no trigger of two":                {[]string{"error", "active", "planned"}, []graph.Edge{depends("c", "a", graph.Trigger), depends("c", "b", graph.Trigger)}, false},
		"a trigger, but not what it needs": {[]string{"completed", "active", "planned"}, []graph.Edge{depends("c", "a", graph.Trigger), depends("c", "b", graph.Hard)}, false},
		"its parent has begun":             {[]string{"active", "initializing"}, []graph.Edge{edge("a", graph.Spawned, "b")}, true},
		"its parent has not begun":         {[]string{"planned", "initializing"}, []graph.Edge{edge("a", graph.Spawned, "b")}, false},
		"a convergence of what ended":      {[]string{"timeout", "completed", ""}, []graph.Edge{edge("a", graph.ConvergedInto, "c"), edge("b", graph.ConvergedInto, "c")}, true},
		"a convergence of what still runs": {[]string{"active", "completed", ""}, []graph.Edge{edge("a", graph.ConvergedInto, "c"), edge("b", graph.ConvergedInto, "c")}, false},
		"going on from what was cut short": {[]string{"orphaned", "planned"}, []graph.Edge{edge("b", graph.ResumedFrom, "a")}, true},
		"data that is not there":           {[]string{"error", "planned"}, []graph.Edge{edge("a", graph.DataFlow, "b")}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &graph.Graph{}
			last := ""
			for i, status := range tt.statuses {
				last = string(rune('a' + i))
				add(t, g, graph.Node{ID: last, Status: status})
			}
			for _, e := range tt.edges {
				require.NoError(t, g.Link(e))
			}
			ready := slices.ContainsFunc(g.Ready(), func(n graph.Node) bool { return n.ID == last })
			assert.Equal(t, tt.ready, ready)
		})
	}
}

func TestTimesTellTheStageOfAnUnknownStatus(t *testing.T) {
	t.Parallel()
	g := &graph.Graph{}
	add(t, g, graph.Node{ID: "a", Status: "merging", Started: 1})
	add(t, g, graph.Node{ID: "b", Status: "merged", Started: 1, Ended: 2})
	add(t, g, graph.Node{ID: "c"})
	add(t, g, graph.Node{ID: "d"})
	require.NoError(t, g.Link(depends("c", "a", graph.Soft)))
	require.NoError(t, g.Link(depends("d", "b", graph.Soft)))
	assert.Equal(t, "d", ids(g.Ready()))
}
