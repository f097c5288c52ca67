package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents"
	"flame/core"
	"flame/render"
)

func TestAGlanceIsALineWithWhatWaitsFirst(t *testing.T) {
	spent := agents.Cost{USD: 1.255, Whole: true}
	for name, tt := range map[string]struct {
		goal string
		g    agents.StatusSummary
		want string
	}{
		"a goal alone":       {goal: "Fix it", want: "→ Fix it"},
		"all that is known":  {goal: "Fix it", g: agents.StatusSummary{Agents: 2, Cost: spent}, want: "→ Fix it · 2 agents · $1.25"},
		"a part of the cost": {goal: "Fix it", g: agents.StatusSummary{Cost: agents.Cost{USD: 2}}, want: "→ Fix it · $2.00+"},
		"what waits": {goal: "Fix it", g: agents.StatusSummary{Waits: agents.Attention{Conflicts: 1, Limits: 1, Failed: 2}},
			want: "! 1 conflict, 1 limit reached, 2 agents failed · → Fix it"},
		"a long goal":        {goal: strings.Repeat("x", 200), g: agents.StatusSummary{Agents: 3}, want: "→ " + strings.Repeat("x", 66) + "… · 3 agents"},
		"wide letters":       {goal: strings.Repeat("登", 200), g: agents.StatusSummary{Agents: 3}, want: "→ " + strings.Repeat("登", 33) + "… · 3 agents"},
		"letters with marks": {goal: strings.Repeat("e\u0301", 30), want: "→ " + strings.Repeat("e\u0301", 30)},
		"too much of all": {goal: strings.Repeat("x", 200),
			g:    agents.StatusSummary{Waits: agents.Attention{Conflicts: 999, Limits: 999, Failed: 999}, Agents: 999, Cost: agents.Cost{USD: 99999}},
			want: "! 999 conflicts, 999 limits reached, 999 agents failed · → xxxxxxxxxxxxxxx… · 9…"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.g.Frame = core.Frame{Goal: tt.goal, Status: core.InProgress}
			assert.Equal(t, tt.want, render.StatusLine(tt.g))
		})
	}
}
