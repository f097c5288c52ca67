package top

import (
	"fmt"
	"strings"

	"flame/cli/printer"
	"flame/render"
)

// A Line is a line of the screen: texts at their columns. What a terminal takes to be
// wider or narrower than it is does so up to the next text only.
type Line []span

// A span is a text that begins at a column, from 0 on.
type span struct {
	at   int
	text string
	look look
}

// A look is how a text is shown.
type look struct {
	colour  string // as terminals know it; empty: the usual one
	bold    bool
	dim     bool
	inverse bool
}

// Looks that are used in several places.
var (
	plain   = look{}
	bold    = look{bold: true}
	dim     = look{dim: true}
	alarm   = look{colour: "31", bold: true}
	running = look{colour: "36"}
)

// put puts a text at a column, cut to so many columns.
func (l *Line) put(at, most int, text string, as look) {
	if most > 0 && text != "" {
		*l = append(*l, span{at, render.CutColumns(flat(text), most), as})
	}
}

// putRight puts a text so that it ends before column end.
func (l *Line) putRight(end, most int, text string, as look) {
	text = render.CutColumns(flat(text), most)
	l.put(end-render.Columns(text), most, text, as)
}

// flat returns a text as one line that cannot steer a terminal.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, printer.Printable(strings.ToValidUTF8(text, "\uFFFD")))
}

// inverse returns the line as one that is chosen: inverse up to its last column.
func (l Line) inverse(width int) Line {
	chosen := Line{{0, strings.Repeat(" ", width), look{inverse: true}}}
	for _, s := range l {
		s.look = look{inverse: true, bold: s.look.bold}
		chosen = append(chosen, s)
	}
	return chosen
}

// codes returns the line as a terminal draws it, from its first column on.
func (l Line) codes(colours bool) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(toColumn(s.at) + s.look.codes(colours) + s.text + "\x1b[0m")
	}
	return b.String()
}

// codes returns what makes a text after it look so.
func (k look) codes(colours bool) string {
	var on []string
	if k.bold {
		on = append(on, "1")
	}
	if k.dim {
		on = append(on, "2")
	}
	if k.inverse {
		on = append(on, "7")
	}
	if colours && k.colour != "" {
		on = append(on, k.colour)
	}
	if len(on) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(on, ";") + "m"
}

// toColumn returns what goes to a column, from 0 on.
func toColumn(at int) string { return fmt.Sprintf("\x1b[%dG", at+1) }
