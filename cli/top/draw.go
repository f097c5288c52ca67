package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/cli/app"
	"flame/core"
	"flame/core/outline"
	"flame/render"
	"flame/render/board"
)

// Lines draws the screen: as many lines as it is high.
func (s *Screen) Lines() []Line {
	if s.Height <= 0 || s.Width <= 0 {
		return nil
	}
	var lines []Line
	foot := s.footer()
	if s.pager == nil {
		lines = append(s.above(), s.treeLines(s.treeHeight())...)
	} else {
		lines = append([]Line{whole(s.Width, s.pager.title, bold)}, s.pager.lines(s.Width, s.pageHeight())...)
		if s.said == "" {
			foot = whole(s.Width, s.pager.place(s.pageHeight()), dim)
		}
	}
	lines = append(lines, make([]Line, s.Height)...)[:s.Height-1]
	return append(lines, foot)
}

// Settle scrolls until the chosen frame is on the screen.
func (s *Screen) Settle() {
	if s.pager != nil {
		s.pager.settle(s.Width, s.pageHeight())
		return
	}
	room := s.treeHeight()
	t := &s.tree
	t.first = max(0, min(t.first, t.at, len(t.entries)-room))
	if room > 0 && t.at >= t.first+room {
		t.first = t.at - room + 1
	}
}

// tall is the height in lines from which the screen shows more than the tree.
const tall = 10

// above draws the lines above the tree.
func (s *Screen) above() []Line {
	lines := []Line{s.header()}
	if s.trouble != nil {
		lines = append(lines, s.troubles()...)
	}
	if s.Height < tall {
		return lines
	}
	lines = append(lines, s.countLine())
	lines = append(lines, s.agentLines()...)
	if waits := s.waits(); waits != nil {
		lines = append(lines, waits)
	}
	return append(lines, nil, s.columnLine())
}

// treeHeight is how many frames are shown.
func (s *Screen) treeHeight() int { return max(0, s.Height-len(s.above())-1) }

// pageHeight is how many rows of a text are shown.
func (s *Screen) pageHeight() int { return max(1, s.Height-2) }

func (s *Screen) header() (line Line) {
	var parts []string
	if count := len(s.model.atWork()); count > 0 {
		parts = append(parts, render.Count(count, "agent"))
	}
	parts = append(parts, render.Amount(s.model.used.Tokens())+" tokens", cmp.Or(money(s.model.used.CostUSD), "$0"))
	right := strings.Join(parts, "  ")
	if render.Columns(right) > s.Width/2 {
		right = parts[len(parts)-1]
	}
	state, as := "live", running
	switch {
	case s.trouble != nil:
		state, as = s.trouble.Kind, alarm
	case !s.model.read:
		state, as, right = "reading", dim, ""
	}
	room := max(0, s.Width-render.Columns(right)-1)
	name := render.CutColumns(flat("flame · "+s.Project), max(0, room-len(state)-2))
	line.put(0, room, name, bold)
	line.put(render.Columns(name)+2, room-render.Columns(name)-2, state, as)
	line.putRight(s.Width, s.Width, right, plain)
	return line
}

// troubles draws the error of the board and its hint, in a few lines.
func (s *Screen) troubles() (lines []Line) {
	text := "! " + core.OneLine(s.trouble.Message, 0)
	if s.trouble.Hint != "" {
		text += ": " + core.OneLine(s.trouble.Hint, 0)
	}
	rows := wrap(text, s.Width)
	for _, row := range rows[:min(len(rows), 1+s.Height/8)] {
		lines = append(lines, whole(s.Width, row, alarm))
	}
	return lines
}

// countLine counts the frames of each status. It leaves out the names if they do not fit.
func (s *Screen) countLine() (line Line) {
	for _, named := range []bool{true, false} {
		at := 0
		line = nil
		for _, st := range core.Statuses {
			n := s.model.counts[st]
			if n == 0 {
				continue
			}
			sign, text := outline.Icon(st), fmt.Sprint(n)
			if named {
				text += " " + strings.ReplaceAll(string(st), "_", " ")
			}
			line.put(at, s.Width-at, sign, look(app.Colour(st)))
			at += render.Columns(sign) + 1
			line.put(at, s.Width-at, text, plain)
			at += render.Columns(text) + 2
		}
		if at-2 <= s.Width {
			break
		}
	}
	return line
}

// agentLines draws the running agents, but leaves most of the screen to the tree.
func (s *Screen) agentLines() (lines []Line) {
	all, most := s.model.atWork(), max(1, s.Height/5)
	for i, a := range all {
		if i == most-1 && len(all) > most {
			var line Line
			line.put(2, s.Width-2, fmt.Sprintf("and %d more agents", len(all)-i), dim)
			return append(lines, line)
		}
		lines = append(lines, s.agentLine(a))
	}
	return lines
}

// agentLine draws an agent: its type, its work, how long it has run, and its usage.
func (s *Screen) agentLine(a board.Agent) (line Line) {
	sign := "▸"
	if a.State == core.AgentSuspended {
		sign = "◦"
	}
	line.put(0, 1, sign, running)
	end := s.Width
	for _, text := range []string{money(a.Used.CostUSD), tokens(a.Used), lasted(cmp.Or(a.First, a.Asked), s.now)} {
		if end-8 > s.Width/2 {
			line.putRight(end, 7, text, plain)
			end -= 8
		}
	}
	kind := cmp.Or(a.Type, "agent")
	if a.Machine != "" {
		kind += " @" + a.Machine
	}
	wide := min(max(8, s.Width/6), end-3)
	line.put(2, wide, kind, bold)
	line.put(3+wide, end-4-wide, doing(a), plain)
	return line
}

// doing returns an agent's present activity: its state unless it runs, its tool, its last words.
func doing(a board.Agent) string {
	state := map[core.AgentState]string{core.AgentInitializing: "starts", core.AgentSuspended: "waits"}[a.State]
	return strings.Join(lo.Compact([]string{state, a.Tool, cmp.Or(a.Text, a.Description)}), ": ")
}

// waits names what needs a person, as the page does; nil if nothing does.
func (s *Screen) waits() Line {
	var parts []string
	if n := len(s.model.conflicts); n > 0 {
		parts = append(parts, render.Count(n, "conflict")+" (`flame agents review`)")
	}
	for _, a := range s.model.atWork() {
		if why := a.Needs(s.now); why != "" {
			parts = append(parts, cmp.Or(a.Type, "agent")+" "+why)
		}
	}
	if idle := s.model.idle(); len(idle) > 0 {
		text := render.Count(len(idle), "idle session")
		if title := cmp.Or(idle[0].Title, idle[0].ID); len(idle) == 1 {
			text += ": " + title
		}
		parts = append(parts, text)
	}
	if n := s.model.counts[core.Blocked]; n > 0 {
		parts = append(parts, render.Count(n, "blocked frame"))
	}
	if len(parts) == 0 {
		return nil
	}
	return whole(s.Width, "! waits for you: "+strings.Join(parts, ", "), "33")
}

// footer draws the last line: the question, else the outcome of the last action, else the keys.
func (s *Screen) footer() Line {
	switch {
	case s.ask != nil:
		text := s.ask.what + s.ask.typed
		for render.Columns(text) >= s.Width && text != "" {
			text = string([]rune(text)[1:]) // keep the end, where the person types
		}
		line := whole(s.Width, text, bold)
		line.put(render.Columns(text), 1, " ", chosen)
		return line
	case s.said != "" && s.bad:
		return whole(s.Width, s.said, alarm)
	case s.said != "":
		return whole(s.Width, s.said, bold)
	case s.tree.filter != nil:
		return whole(s.Width, "only found frames; Esc shows all", dim)
	}
	return whole(s.Width, "? keys  Enter details  l log  / search  s by "+orders[s.tree.order].name+"  . running  x cancel  q quit", dim)
}

// A column shows a value of each frame beside its goal.
type column struct {
	name string
	wide int
	left bool // its texts begin at its left
	text func(s *Screen, f *board.Node) string
}

// columns are the columns of the tree, from left to right.
var columns = []column{
	{"who", 12, true, func(_ *Screen, f *board.Node) string { return whose(f) }},
	{"time", 6, false, func(s *Screen, f *board.Node) string {
		if f.From == 0 {
			return ""
		}
		return lasted(f.From, cmp.Or(f.Until, s.now))
	}},
	{"self $", 7, false, func(_ *Screen, f *board.Node) string { return money(f.Self.CostUSD) }},
	{"total $", 7, false, func(_ *Screen, f *board.Node) string { return money(f.Total.CostUSD) }},
	{"tokens", 6, false, func(_ *Screen, f *board.Node) string { return tokens(f.Total) }},
}

// whose names the agent or host that works in a frame, or its machine if it is another one.
func whose(f *board.Node) string {
	if f.Machine != "" {
		return "@" + f.Machine
	}
	return cmp.Or(f.Agent, f.Host)
}

// The screen leaves columns out, in this order, if goals would have less than leastGoal columns.
var leftOut = []string{"who", "self $", "tokens", "time", "total $"}

const leastGoal = 30

// fits returns the columns that fit, and the width of goals.
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

// treeLines draws the frames that fit.
func (s *Screen) treeLines(room int) (lines []Line) {
	shown, goal := s.fits()
	for i := s.tree.first; i < min(s.tree.first+room, len(s.tree.entries)); i++ {
		line := s.frameLine(s.tree.entries[i], shown, goal)
		if i == s.tree.at {
			line = line.chosen(s.Width)
		}
		lines = append(lines, line)
	}
	if len(s.tree.entries) == 0 && room > 0 && s.model.read {
		lines = append(lines, whole(s.Width, "No frames yet: `flame push GOAL` starts one, `flame demo` shows how.", dim))
	}
	return lines
}

// frameLine draws a frame.
func (s *Screen) frameLine(f *board.Node, shown []column, goal int) (line Line) {
	levels := goal / 4 / 2 // deeper frames get their depth as a number instead of more indentation
	indent := 2 * min(f.Depth, levels)
	if f.Depth > levels {
		text := fmt.Sprintf("%d› ", f.Depth)
		line.put(indent, goal-indent, text, dim)
		indent += render.Columns(text)
	}
	fold := " "
	if len(f.Below) > 0 {
		fold = "▾"
		if s.tree.folded[f.ID] && s.tree.filter == nil {
			fold = "▸"
		}
	}
	as := plain
	if f.Archived || s.tree.filter != nil && !s.tree.filter(f) {
		as = dim
	}
	line.put(indent, goal-indent, fold, dim)
	line.put(indent+1, goal-indent-1, outline.Icon(f.Status), bold+";"+look(app.Colour(f.Status)))
	line.put(indent+3, goal-indent-3, cmp.Or(f.Goal, f.ID), as)
	s.putColumns(&line, shown, goal, as, func(c column) string { return c.text(s, f) })
	return line
}

// money returns US dollars in few characters; it is empty for 0.
func money(usd float64) string {
	switch {
	case usd == 0:
		return ""
	case usd < 0.01:
		return "<$0.01"
	case usd >= 1000:
		return fmt.Sprintf("$%.0f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// tokens returns how many tokens were used; it is empty for 0.
func tokens(u core.Usage) string {
	if n := u.Tokens(); n > 0 {
		return render.Amount(n)
	}
	return ""
}

// lasted returns the time between two points, as people read it.
func lasted(from, until core.Millis) string { return render.Duration(int64(max(0, until-from))) }
