package agents_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/turns"
	"flame/project/view"
	"flame/render"
)

func TestTheGraphHasNativeSubagentsToo(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, err := children.Spawn(s.ctx, s.Project, user, children.SpawnCall{ID: "call-1", Description: "Look around", AgentType: "Explore"})
	require.NoError(t, err)
	native := project.Caller{Session: "native", Parent: user.Session, Host: "claude-code", Trust: project.TrustHook}
	_, err = children.StartSession(s.ctx, s.Project, native, "Read it (@general-purpose subagent)")
	require.NoError(t, err)
	below := s.request(native, plan.Request{Type: "builder", Prompt: "hang", Description: "Build"})

	g, err := s.Graph(s.ctx)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, graph.Draw(&b, g, "tree"))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 4, b.String())
	assert.Contains(t, lines[0], user.Session)
	for _, says := range []string{"├── Read it", "│   └── Build", "└── Look around"} {
		assert.Contains(t, b.String(), says)
	}

	tree, err := view.TreeOf(s.ctx, s.Project, user, view.TreeArgs{})
	require.NoError(t, err)
	drawn := render.Tree(tree, false)
	assert.Contains(t, drawn, "Build ["+below.Frame+"] @builder\n")
	assert.Contains(t, drawn, "] @general-purpose\n")
	details, err := view.DetailsOf(s.ctx, s.Project, user, below.Frame)
	require.NoError(t, err)
	assert.Contains(t, render.Details(details, 0), "Made for the agent: builder "+below.ID+"\n")
}

func TestTheGraphKeepsSubagentsThatEndedLongAgo(t *testing.T) {
	t.Parallel()
	s := newService(t)
	native := project.Caller{Session: "native", Parent: user.Session, Host: "claude-code", Trust: project.TrustHook}
	_, err := children.StartSession(s.ctx, s.Project, native, "Read it (@general-purpose subagent)")
	require.NoError(t, err)
	require.NoError(t, children.End(s.ctx, s.Project, user, children.EndReport{Session: "native", End: core.ChildCompleted}))
	s.shift.Store(2 * time.Hour.Milliseconds())
	for range 100 { // a turn's end leaves to the next what would make it late
		require.NoError(t, turns.End(s.ctx, s.Project, user, turns.EndReport{}))
		if !s.session("native").Tracked {
			break
		}
	}
	assert.False(t, s.session("native").Tracked, "two hours later flame tracks it no more")

	g, err := s.Graph(s.ctx)
	require.NoError(t, err)
	assert.Condition(t, func() bool {
		return slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return n.ID == "native" && n.Status == "completed" })
	}, "%+v", g.Nodes)
}
