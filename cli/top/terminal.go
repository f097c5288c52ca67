package top

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// A terminal shows lines, and is left as it was.
type terminal struct {
	in, out *os.File
	colours bool

	was           *term.State // before it was entered; nil while it is not
	shown         []string    // by line, what it shows
	width, height int
}

// What is written when a screen takes a terminal, and when it leaves it. Nothing of it asks
// the terminal for an answer.
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

// leave leaves the terminal as it was.
func (t *terminal) leave() {
	if t.was == nil {
		return
	}
	_, _ = t.out.WriteString(giveBack) // a terminal that is gone needs nothing
	_ = term.Restore(int(t.in.Fd()), t.was)
	t.was = nil
}

// What is taken for the size of a terminal that does not tell its own.
const usualWidth, usualHeight = 80, 24

// size returns how many columns and lines the terminal has.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return usualWidth, usualHeight
	}
	return width, height
}

// show shows lines. It writes those that changed.
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
