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

// coloured colours the signs of a drawn tree, on a terminal only.
func (p *Printer) coloured(drawn string) string {
	if !p.onTerminal() {
		return drawn
	}
	var pairs []string
	for status, colour := range colours {
		icon := outline.Icon(status) + " "
		pairs = append(pairs, icon, "\x1b["+colour+"m"+icon+"\x1b[0m")
	}
	return strings.NewReplacer(pairs...).Replace(drawn)
}

// onTerminal reports whether the output goes to a terminal that wants colours
// (NO_COLOR, TERM=dumb: no).
func (p *Printer) onTerminal() bool {
	out, ok := p.Out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return isatty.IsTerminal(out.Fd())
}
