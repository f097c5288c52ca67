package printer

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// UsualWidth is the width in columns of a terminal that does not tell its own.
const UsualWidth = 80

// Width returns how many columns the output has: as many as COLUMNS says, else those of
// the terminal. It is 0 where there is no terminal: files and pipes take any width.
func (p *Printer) Width() int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	out, ok := p.Out.(*os.File)
	if !ok || !p.OnTerminal() {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return UsualWidth
	}
	return int(size.Col)
}
