package top

import (
	"cmp"
	"fmt"
	"slices"

	"flame/cli/printer"
	"flame/core/outline"
	"flame/render"
)

// A column is what is shown of a frame beside its goal.
type column struct {
	name string
	wide int
	left bool // its texts begin at its left
	text func(s *Screen, f *frame) string
}

// columns are those of the tree, from left to right.
var columns = []column{
	{"who", 12, true, func(_ *Screen, f *frame) string { return whose(f) }},
	{"time", 6, false, func(s *Screen, f *frame) string {
		if f.From == 0 {
			return ""
		}
		return lasted(f.From, cmp.Or(f.Until, s.now))
	}},
	{"self $", 7, false, func(_ *Screen, f *frame) string { return money(f.Self.CostUSD) }},
	{"total $", 7, false, func(_ *Screen, f *frame) string { return money(f.Total.CostUSD) }},
	{"tokens", 6, false, func(_ *Screen, f *frame) string { return tokens(f.Total) }},
}

// whose names who works in a frame, or the machine if that is another than this one.
func whose(f *frame) string {
	if f.Machine != "" {
		return "@" + f.Machine
	}
	return cmp.Or(f.Agent, f.Host)
}

// Columns are left out, in this order, where a goal would have less than leastGoal columns.
var leftOut = []string{"who", "self $", "tokens", "time", "total $"}

const leastGoal = 30

// fits returns the columns that fit, and how many columns of the screen goals have.
func (s *Screen) fits() (shown []column, goal int) {
	for out := 0; ; out++ {
		shown, goal = nil, s.Width
		for _, c := range columns {
			if !slices.Contains(leftOut[:out], c.name) {
				if c.left && s.Width >= 110 {
					c.wide += 8
				}
				shown, goal = append(shown, c), goal-c.wide-1
			}
		}
		if goal >= leastGoal || out == len(leftOut) {
			return shown, goal
		}
	}
}

// columnLine names the columns.
func (s *Screen) columnLine() (line Line) {
	shown, goal := s.fits()
	line.put(0, goal, "frame", dim)
	s.putColumns(&line, shown, goal, dim, func(c column) string { return c.name })
	return line
}

func (s *Screen) putColumns(line *Line, shown []column, goal int, as look, text func(c column) string) {
	at := goal
	for _, c := range shown {
		if c.left {
			line.put(at+1, c.wide, text(c), as)
		} else {
			line.putRight(at+1+c.wide, c.wide, text(c), as)
		}
		at += 1 + c.wide
	}
}

// treeLines draws as many frames as there is room for.
func (s *Screen) treeLines(room int) (lines []Line) {
	shown, goal := s.fits()
	for i := s.tree.first; i < min(s.tree.first+room, len(s.tree.entries)); i++ {
		line := s.frameLine(s.tree.entries[i], shown, goal)
		if i == s.tree.at {
			line = line.inverse(s.Width)
		}
		lines = append(lines, line)
	}
	if len(s.tree.entries) == 0 && room > 0 && s.model.read {
		var line Line
		line.put(0, s.Width, "No frames yet: `flame push GOAL` starts one, `flame demo` shows how.", dim)
		lines = append(lines, line)
	}
	for len(lines) < room {
		lines = append(lines, nil)
	}
	return lines
}

// frameLine draws a frame.
func (s *Screen) frameLine(e entry, shown []column, goal int) (line Line) {
	f := e.f
	levels := goal / 4 / 2 // what is deeper is not indented further, but numbered
	indent := 2 * min(e.depth, levels)
	if e.depth > levels {
		text := fmt.Sprintf("%d› ", e.depth)
		line.put(indent, goal-indent, text, dim)
		indent += render.Columns(text)
	}
	fold := " "
	if len(f.below) > 0 {
		fold = "▾"
		if s.tree.folded[f.ID] && s.tree.found == nil {
			fold = "▸"
		}
	}
	as := plain
	if f.Archived || s.tree.found != nil && !s.tree.found[f.ID] {
		as = dim
	}
	line.put(indent, goal-indent, fold, dim)
	line.put(indent+1, goal-indent-1, outline.Icon(f.Status), look{colour: printer.Colour(f.Status), bold: true})
	line.put(indent+3, goal-indent-3, cmp.Or(f.Goal, f.ID), as)
	s.putColumns(&line, shown, goal, as, func(c column) string { return c.text(s, f) })
	return line
}
