package top

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"flame/agents"
	"flame/core"
	"flame/render"
)

// A pager shows one text on the whole screen.
type pager struct {
	title string
	text  string
	frame string // that it is about; empty: none

	load    func(ctx context.Context, a *agents.Agents) (string, error) // nil: the text is all there is
	loading bool
	loaded  core.Millis // when the frame was last updated, as far as the text has that
	next    time.Time   // before which it is not loaded again
	grows   bool        // what is new comes at its end
	ends    bool        // its end is shown, also of a newer one

	rows  []string // the text in lines of the screen
	width int      // of which they are made
	first int      // the row at the top
}

// settle makes the rows for a width, and scrolls to where there are some.
func (p *pager) settle(width, height int) {
	if p.width != width {
		p.rows, p.width = wrap(p.text, width), width
		if p.ends {
			p.first = len(p.rows)
		}
	}
	p.first = max(0, min(p.first, len(p.rows)-height))
}

// key does what a key is for where so many rows are shown, and reports whether it was to
// go back.
func (p *pager) key(k key, height int) (back bool) {
	switch k.name {
	case "q", "esc", "enter", "left":
		return true
	case "j", "down":
		p.first++
	case "k", "up":
		p.first--
	case "pgdn", " ", "ctrl-f":
		p.first += max(1, height-1)
	case "pgup", "b", "ctrl-b":
		p.first -= max(1, height-1)
	case "g", "home":
		p.first = 0
	case "G", "end":
		p.first = len(p.rows)
	}
	p.first = max(0, min(p.first, len(p.rows)-height))
	p.ends = p.grows && p.first+height >= len(p.rows)
	return false
}

// lines draws so many rows.
func (p *pager) lines(width, height int) (lines []Line) {
	for i := p.first; i < p.first+height; i++ {
		var line Line
		if i < len(p.rows) {
			as := plain
			if strings.HasPrefix(p.rows[i], heading) {
				as = dim
			}
			line.put(0, width, p.rows[i], as)
		}
		lines = append(lines, line)
	}
	return lines
}

// wrap returns a text in rows of at most width columns, broken at spaces where that leaves
// enough. It keeps indentation, as code has it.
func wrap(text string, width int) (rows []string) {
	width = max(1, width)
	for line := range strings.Lines(text) {
		line = flat(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
		for {
			cut := rowEnd(line, width)
			rows = append(rows, strings.TrimRight(line[:cut], " "))
			if line = line[cut:]; line == "" {
				break
			}
		}
	}
	return rows
}

// rowEnd returns where the first row of a line ends, in bytes.
func rowEnd(line string, width int) int {
	left, space := width, 0
	for i, r := range line {
		if left -= render.ColumnsOf(r); left < 0 {
			if space > i/2 {
				return space
			}
			if i == 0 {
				return utf8.RuneLen(r) // no row is wide enough for it
			}
			return i
		}
		if r == ' ' {
			space = i + 1
		}
	}
	return len(line)
}
