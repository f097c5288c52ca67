package top

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"flame/core"
	"flame/render"
)

// A Line is a line of the screen: texts at their columns. If a terminal draws a text wider or
// narrower than expected, that affects only the columns up to the next text.
type Line []span

// A span is a text that begins at a column, from 0 on.
type span struct {
	at   int
	text string
	look look
}

// A look is the style of a text: numbers of SGR, separated by semicolons. Two digits are a
// colour.
type look string

// Looks that are used in several places.
const (
	plain   look = ""
	bold    look = "1"
	dim     look = "2"
	chosen  look = "7" // inverse
	running look = "36"
	alarm   look = "1;31"
)

// on returns the codes that begin a look.
func (k look) on(colours bool) string {
	codes := slices.DeleteFunc(strings.Split(string(k), ";"), func(code string) bool { return code == "" || !colours && len(code) > 1 })
	if len(codes) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// whole returns a line with one text, cut to so many columns.
func whole(width int, text string, as look) (line Line) {
	line.put(0, width, text, as)
	return line
}

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

// flat returns a text as one line without characters that steer a terminal.
func flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, core.Printable(strings.ToValidUTF8(text, "\uFFFD")))
}

// chosen returns the line in inverse, up to the last column.
func (l Line) chosen(width int) Line {
	line := Line{{0, strings.Repeat(" ", width), chosen}}
	for _, s := range l {
		as := chosen
		if strings.HasPrefix(string(s.look), string(bold)) {
			as = bold + ";" + chosen
		}
		line = append(line, span{s.at, s.text, as})
	}
	return line
}

// codes returns the line as a terminal draws it, from its first column on.
func (l Line) codes(colours bool) string {
	var b strings.Builder
	for _, s := range l {
		fmt.Fprintf(&b, "\x1b[%dG%s%s\x1b[0m", s.at+1, s.look.on(colours), s.text)
	}
	return b.String()
}

// A terminal shows lines, and restores its state at the end.
type terminal struct {
	in, out *os.File
	colours bool

	was           *term.State // before it was entered; nil while it is left
	shown         []string    // the codes of each line
	width, height int
}

// The codes that a screen writes when it enters and leaves a terminal. The terminal answers none
// of them.
const (
	takeOver = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h" // another screen, no cursor, no new line at the last column, pastes are marked
	giveBack = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
	wipe     = "\x1b[0m\x1b[2J"
)

// enter takes the terminal over.
func (t *terminal) enter() error {
	was, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return err
	}
	t.was, t.shown = was, nil
	_, err = t.out.WriteString(takeOver)
	return err
}

// leave restores the terminal.
func (t *terminal) leave() {
	if t.was == nil {
		return
	}
	_, _ = t.out.WriteString(giveBack) // the terminal may be gone
	_ = term.Restore(int(t.in.Fd()), t.was)
	t.was = nil
}

// The assumed size of a terminal that does not report its own.
const usualWidth, usualHeight = 80, 24

// size returns how many columns and lines the terminal has.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return usualWidth, usualHeight
	}
	return width, height
}

// show shows lines. It writes only changed lines.
func (t *terminal) show(lines []Line, width, height int) error {
	var b strings.Builder
	if t.shown == nil || width != t.width || height != t.height {
		b.WriteString(wipe)
		t.shown, t.width, t.height = make([]string, height), width, height
	}
	for i, line := range lines {
		if codes := line.codes(t.colours); codes != t.shown[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, codes)
			t.shown[i] = codes
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := t.out.WriteString(b.String())
	return err
}
