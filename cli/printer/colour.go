package printer

import (
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"flame/core"
	"flame/core/outline"
)

// Colours of the signs of a tree, as terminals know them.
var colours = map[core.Status]string{
	core.Completed: "32", core.InProgress: "36", core.Blocked: "33", core.Failed: "31", core.Invalidated: "90",
}

// Colour returns the colour of the sign of a status, as terminals know it; empty for none.
func Colour(s core.Status) string { return colours[s] }

// coloured colours the signs of a drawn tree, on a terminal only.
func (p *Printer) coloured(drawn string) string {
	if !p.wantsColours() {
		return drawn
	}
	var pairs []string
	for status, colour := range colours {
		icon := outline.Icon(status) + " "
		pairs = append(pairs, icon, "\x1b["+colour+"m"+icon+"\x1b[0m")
	}
	return strings.NewReplacer(pairs...).Replace(drawn)
}

// wantsColours reports whether the output goes to a terminal that wants colours
// (NO_COLOR, TERM=dumb: no).
func (p *Printer) wantsColours() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && p.OnTerminal()
}

// OnTerminal reports whether the output goes to a terminal.
func (p *Printer) OnTerminal() bool {
	out, ok := p.Out.(*os.File)
	return ok && isatty.IsTerminal(out.Fd())
}
