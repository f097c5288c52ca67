package render

import (
	"fmt"
	"strings"

	"flame/agents/glance"
	"flame/core"
	"flame/core/outline"
)

// GlanceColumns is how many columns of a terminal a Glance takes at most: hosts give their
// status lines no more than what other things leave.
const GlanceColumns = 80

// leastGoal is how many columns a goal has at least.
const leastGoal = 16

// Glance returns a look at the work of a session in one line: what waits for a person
// comes first, and of a long goal the end is left out.
func Glance(g glance.Glance) string {
	before, after := waits(g.Waits), ""
	if before != "" {
		before = "! " + before + " · "
	}
	if g.Plan.Of > 0 {
		after += fmt.Sprintf(" %d/%d", g.Plan.At, g.Plan.Of)
	}
	if g.Agents > 0 {
		after += " · " + Count(g.Agents, "agent")
	}
	if cost := g.Cost; cost.USD > 0 {
		after += fmt.Sprintf(" · $%.2f", cost.USD)
		if !cost.Whole {
			after += "+"
		}
	}
	before += outline.Icon(g.Frame.Status) + " "
	room := max(leastGoal, GlanceColumns-Columns(before)-Columns(after))
	return CutColumns(before+CutColumns(core.OneLine(g.Frame.Goal, GlanceColumns+1), room)+after, GlanceColumns)
}

// waits says what waits for a person, the most urgent first.
func waits(w glance.Waits) string {
	var parts []string
	if w.Conflicts > 0 {
		parts = append(parts, Count(w.Conflicts, "conflict"))
	}
	if w.Limits > 0 {
		parts = append(parts, Count(w.Limits, "limit")+" reached")
	}
	if w.Failed > 0 {
		parts = append(parts, Count(w.Failed, "agent")+" failed")
	}
	return strings.Join(parts, ", ")
}
