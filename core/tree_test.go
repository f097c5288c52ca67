package core_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

// forest has a frame of every status and texts of every kind.
func forest() []core.TreeNode {
	node := func(id string, s core.Status, goal string, created core.Millis, children ...core.TreeNode) core.TreeNode {
		return core.TreeNode{Frame: core.Frame{ID: id, Status: s, Goal: goal, CreatedAt: created}, Children: children}
	}
	old := node("frame-old00001", core.Completed, "An older tree", 1)
	old.Frame.Summary = "It stands.\nAll of it, with tests and a description that goes on for more than one line can hold."
	old.Frame.Artifacts = []string{"a.go", "b.go", "c.go", "d.go", "e.go"}
	gone := node("plan-gone0001", core.Invalidated, "Given up", 6)
	gone.Frame.InvalidationReason = "the requirement went away when the customer found out that nobody used it"
	login := node("frame-login001", core.InProgress, "Login", 3, node("frame-form0001", core.InProgress, "Form", 4))
	login.More = map[core.Status]int{core.Completed: 12, core.Failed: 1}
	return []core.TreeNode{old, node("frame-shop0001", core.InProgress, "Ship the shop that sells more things than this line has room for", 2,
		gone,
		node("frame-fail0001", core.Failed, "Opaque tokens", 7),
		node("frame-block001", core.Blocked, "Mail \x1b[31mred\x1b[0m\nlink", 8),
		node("frame-done0002", core.Completed, "Second", 10),
		node("frame-done0001", core.Completed, "First", 9),
		node("plan-pay00001", core.Planned, "Payment", 5),
		login,
	)}
}

func TestDrawTree(t *testing.T) {
	t.Parallel()
	tests := map[string]core.DrawOptions{
		"plain":    {},
		"current":  {Current: "frame-form0001", Marks: map[string]string{"frame-login001": "another session"}},
		"details":  {Details: true},
		"narrow":   {MaxLine: 40, Details: true},
		"leftover": {More: map[core.Status]int{core.InProgress: 1, core.Planned: 2}},
	}
	for name, opt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkText(t, "tree/"+name+".txt", core.DrawTree(forest(), opt))
		})
	}
	assert.Empty(t, core.DrawTree(nil, core.DrawOptions{}))
}

func TestDrawnTreesAreTextForATerminal(t *testing.T) {
	t.Parallel()
	nodes := forest()
	nodes[1].Frame.ID, nodes[1].Frame.Goal = "id\n\x1b[2J", "line\nline\x9b\u202E"
	drawn := core.DrawTree(nodes, core.DrawOptions{Details: true})
	assert.NotContains(t, drawn, "\x1b")
	assert.NotContains(t, drawn, "\u202E")
	assert.Equal(t, 1, strings.Count(drawn, "line line"))
}

func TestDeepTreesStayReadable(t *testing.T) {
	t.Parallel()
	node := core.TreeNode{Frame: core.Frame{ID: "frame-leaf0001", Status: core.InProgress, Goal: strings.Repeat("deep ", 30)}}
	for range 300 {
		node = core.TreeNode{Frame: core.Frame{ID: "frame-node0001", Status: core.InProgress, Goal: strings.Repeat("goal ", 30)}, Children: []core.TreeNode{node}}
	}
	drawn := core.DrawTree([]core.TreeNode{node}, core.DrawOptions{MaxLine: 100})
	for line := range strings.Lines(drawn) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100)
	}
	assert.Contains(t, drawn, "[frame-leaf0001]")
}

func TestTreeLegendNamesEveryStatus(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "→ in_progress  ○ planned  ✓ completed  ! blocked  ⚠ failed  ✗ invalidated", core.TreeLegend())
	assert.Equal(t, "?", core.Status("odd").Icon())
}
