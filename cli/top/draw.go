package top

import (
	"cmp"
	"fmt"
	"strings"

	"flame/board"
	"flame/cli/printer"
	"flame/core"
	"flame/core/outline"
	"flame/render"
)

// Lines draws the screen: as many lines as it is high.
func (s *Screen) Lines() []Line {
	if s.Height <= 0 || s.Width <= 0 {
		return nil
	}
	var lines []Line
	if s.pager != nil {
		lines = s.page()
	} else {
		lines = append(s.above(), s.treeLines(s.treeHeight())...)
		var foot Line
		s.footer(&foot)
		lines = append(lines, foot)
	}
	for len(lines) < s.Height {
		lines = append(lines, nil)
	}
	return lines[:s.Height]
}

// Settle scrolls so that what is chosen can be seen.
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

// Below so many lines the screen has no room for anything but the tree.
const tall = 10

// above draws what is above the tree.
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

// page draws the text.
func (s *Screen) page() []Line {
	p, height := s.pager, s.pageHeight()
	var head, foot Line
	head.put(0, s.Width, p.title, bold)
	lines := append([]Line{head}, p.lines(s.Width, height)...)
	switch {
	case s.said != "":
		s.footer(&foot)
	case len(p.rows) > height:
		foot.put(0, s.Width, fmt.Sprintf("%d-%d of %d  j k PgUp PgDn g G  q back", p.first+1, min(p.first+height, len(p.rows)), len(p.rows)), dim)
	default:
		foot.put(0, s.Width, "q back", dim)
	}
	return append(lines, foot)
}

func (s *Screen) header() (line Line) {
	count := len(s.model.atWork())
	parts := []string{}
	if count > 0 {
		parts = append(parts, render.Count(count, "agent"))
	}
	parts = append(parts, amount(s.model.used.Tokens())+" tokens", cmp.Or(money(s.model.used.CostUSD), "$0"))
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

// troubles says what is wrong, and what to do about it, in some lines.
func (s *Screen) troubles() (lines []Line) {
	text := "! " + core.OneLine(s.trouble.Message, 0)
	if s.trouble.Hint != "" {
		text += ": " + core.OneLine(s.trouble.Hint, 0)
	}
	rows := wrap(text, s.Width)
	for _, row := range rows[:min(len(rows), 1+s.Height/8)] {
		var line Line
		line.put(0, s.Width, row, alarm)
		lines = append(lines, line)
	}
	return lines
}

// countLine counts the frames of each status, in short where there is no room.
func (s *Screen) countLine() Line {
	for _, short := range []bool{false, true} {
		var line Line
		at := 0
		for _, st := range core.Statuses {
			n := s.model.counts[st]
			if n == 0 {
				continue
			}
			sign, text := outline.Icon(st), fmt.Sprint(n)
			if !short {
				text += " " + status(st)
			}
			line.put(at, s.Width-at, sign, look{colour: printer.Colour(st)})
			at += render.Columns(sign) + 1
			line.put(at, s.Width-at, text, plain)
			at += render.Columns(text) + 2
		}
		if at-2 <= s.Width || short {
			return line
		}
	}
	return nil
}

// agentLines draws the agents at work, as many as leave most of the screen to the tree.
func (s *Screen) agentLines() (lines []Line) {
	all := s.model.atWork()
	most := max(1, s.Height/5)
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

// agentLine draws an agent: its type, what it does now, for how long, and what it used.
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

// doing says what an agent does now.
func doing(a board.Agent) string {
	var now []string
	switch {
	case a.State == core.AgentInitializing:
		now = append(now, "starts")
	case a.State == core.AgentSuspended:
		now = append(now, "waits")
	}
	for _, text := range []string{a.Tool, a.Text} {
		if text != "" {
			now = append(now, text)
		}
	}
	if len(now) == 0 || a.Text == "" {
		now = append(now, a.Description)
	}
	return strings.Join(now, ": ")
}

// waits says what waits for a person; nil if nothing does.
func (s *Screen) waits() (line Line) {
	var parts []string
	if n := len(s.model.conflicts); n > 0 {
		parts = append(parts, render.Count(n, "conflict")+" (`flame agents review`)")
	}
	if idle := s.model.idle(); len(idle) > 0 {
		text := render.Count(len(idle), "idle session")
		if title := cmp.Or(idle[0].Title, idle[0].ID); len(idle) == 1 {
			text += ": " + title
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		line.put(0, s.Width, "! waits for you: "+strings.Join(parts, ", "), look{colour: "33"})
	}
	return line
}

// footer draws the last line: what is asked, else what was done, else the keys.
func (s *Screen) footer(line *Line) {
	switch {
	case s.ask != nil:
		text := s.ask.what + s.ask.typed
		for render.Columns(text) >= s.Width && text != "" {
			text = string([]rune(text)[1:]) // its end is where a person types
		}
		line.put(0, s.Width, text, bold)
		line.put(render.Columns(text), 1, " ", look{inverse: true})
	case s.said != "" && s.bad:
		line.put(0, s.Width, s.said, alarm)
	case s.said != "":
		line.put(0, s.Width, s.said, bold)
	case s.tree.found != nil:
		line.put(0, s.Width, "only what was found; Esc shows all", dim)
	default:
		line.put(0, s.Width, "? keys  Enter details  l log  / search  s by "+orders[s.tree.order].name+"  . running  x cancel  q quit", dim)
	}
}
