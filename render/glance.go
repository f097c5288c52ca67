package render

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"flame/agents"
	"flame/core"
	"flame/core/outline"
)

// GlanceColumns is how many columns of a terminal a StatusSummary takes at most: hosts give their
// status lines only the room that is left.
const GlanceColumns = 80

// leastGoal is how many columns a goal has at least.
const leastGoal = 16

// StatusLine returns the work of a session in one line. What waits for a person comes first; a
// long goal is cut at its end.
func StatusLine(g agents.StatusSummary) string {
	before, after := waits(g.Waits), ""
	if before != "" {
		before = "! " + before + " · "
	}
	if g.Agents > 0 {
		after += " · " + Count(g.Agents, "agent")
	}
	if cost := g.Cost; cost.USD > 0 {
		after += " · " + core.Money(cost.USD)
		if !cost.Whole {
			after += "+"
		}
	}
	before += outline.Icon(g.Frame.Status) + " "
	room := max(leastGoal, GlanceColumns-Columns(before)-Columns(after))
	return CutColumns(before+CutColumns(core.OneLine(g.Frame.Goal, GlanceColumns+1), room)+after, GlanceColumns)
}

// waits lists everything that waits for a person, the most urgent first.
func waits(w agents.Attention) string {
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

// Columns returns how many columns of a terminal a line takes.
func Columns(s string) (n int) {
	for _, r := range s {
		n += ColumnsOf(r)
	}
	return n
}

// ColumnsOf returns how many columns a character takes: two for wide characters of East Asia, none
// for a character that combines with the one before it.
func ColumnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutColumns returns the beginning of a line in at most so many columns. A cut line ends in an
// ellipsis.
func CutColumns(s string, most int) string {
	if Columns(s) <= most {
		return s
	}
	left := most - 1
	for i, r := range s {
		if left -= ColumnsOf(r); left < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
