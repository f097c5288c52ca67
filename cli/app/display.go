package app

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"flame/render"
)

// A Display draws a text again whenever it changes: in the same place on a terminal, else below
// the former drawing.
type Display struct {
	Printer *Printer
	last    string
}

// Draw draws a text. Where a terminal is too low for it, the lines around the first one that
// contains middle are drawn.
func (d *Display) Draw(text, middle string) error {
	inPlace := !d.Printer.JSON && d.Printer.OnTerminal() && os.Getenv("TERM") != "dumb"
	if inPlace {
		text = d.Printer.screen(text, middle)
	}
	if text == d.last {
		return nil
	}
	before := ""
	switch {
	case d.last != "" && !inPlace && !d.Printer.JSON:
		before = "\n"
	case d.last == "" && inPlace:
		before = strings.Repeat("\n", d.Printer.height()) // what the terminal shows is not overwritten
	}
	d.last = text
	_, err := io.WriteString(d.Printer.Out, before+text)
	return err
}

// screen returns the codes that draw the lines of a text from the top of a terminal.
func (p *Printer) screen(text, middle string) string {
	width, lines := p.Width(), strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range around(lines, p.height()-1, middle) {
		b.WriteString(p.coloured(render.CutColumns(line, width)) + "\x1b[K\n")
	}
	return b.String() + "\x1b[J"
}

// around returns at most so many lines, the first that contains middle among them, and says how
// many it leaves out.
func around(lines []string, most int, middle string) []string {
	if most = max(most, 1); len(lines) <= most {
		return lines
	}
	at := 0
	for i, line := range lines {
		if middle != "" && strings.Contains(line, middle) {
			at = i
			break
		}
	}
	from := max(0, min(at-most/2, len(lines)-most))
	shown := append([]string{}, lines[from:from+most]...)
	if above := from + 1; from > 0 && at > from {
		shown[0] = fmt.Sprintf("… %d more lines", above)
	}
	if below := len(lines) - from - most + 1; below > 1 && at < from+most-1 {
		shown[most-1] = fmt.Sprintf("… %d more lines", below)
	}
	return shown
}

// usualHeight is the assumed height in lines of a terminal that does not report its own.
const usualHeight = 24

// height returns the height of the terminal in lines.
func (p *Printer) height() int { return cmp.Or(int(p.size().Row), usualHeight) }

// size returns the size of the terminal that the output goes to; zero without one.
func (p *Printer) size() (size unix.Winsize) {
	if out, ok := p.Out.(*os.File); ok && p.OnTerminal() {
		if found, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ); err == nil {
			size = *found
		}
	}
	return size
}
