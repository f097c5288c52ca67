package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/core/outline"
	"flame/project/view"
	"flame/render"
)

// A Printer prints answers.
type Printer struct {
	Out  io.Writer
	JSON bool // instead of text
}

// Print writes v as JSON with --json, else the text.
func (p *Printer) Print(v any, text string) error {
	return p.answer(v, core.Printable(render.ToCommands(text)))
}

// Draw is Print for a text with the signs of a tree. It colours them on a terminal.
func (p *Printer) Draw(v any, text string) error {
	return p.answer(v, p.coloured(core.Printable(render.ToCommands(text))))
}

func (p *Printer) answer(v any, text string) error {
	if !p.JSON {
		_, err := fmt.Fprintln(p.Out, strings.TrimRight(text, "\n"))
		return err
	}
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(withLists(v)); err != nil {
		return err
	}
	_, err := p.Out.Write(plainJSON(document.Bytes()))
	return err
}

// withLists returns v with empty lists where JSON would have null.
func withLists(v any) any {
	switch v := v.(type) {
	case core.Frame:
		return whole(v)
	case []core.Frame:
		return lo.Map(v, func(f core.Frame, _ int) core.Frame { return whole(f) })
	case []view.SearchHit:
		return lo.Map(v, func(f view.SearchHit, _ int) view.SearchHit { f.Frame = whole(f.Frame); return f })
	case agents.StatusSummary:
		return struct {
			core.Frame
			agents.StatusSummary
		}{whole(v.Frame), v}
	case view.Details:
		v.Frame = whole(v.Frame)
		return v
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		return []any{}
	}
	return v
}

// whole returns f with empty lists instead of those that would be null in JSON.
func whole(f core.Frame) core.Frame {
	f.Artifacts = append([]string{}, f.Artifacts...)
	f.Decisions = append([]string{}, f.Decisions...)
	return f
}

// plainJSON escapes characters that steer a terminal in a JSON document. That keeps its meaning.
// encoding/json does not escape DEL, C1 controls and others.
func plainJSON(document []byte) []byte {
	if !bytes.ContainsFunc(document, func(r rune) bool { return r >= 0x7f && core.IsTerminalControl(r) }) {
		return document
	}
	var out []byte
	for _, r := range string(document) {
		if r >= 0x7f && core.IsTerminalControl(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// Line prints v as JSON on a line of its own with --json, else the text.
func (p *Printer) Line(v any, text string) error {
	if !p.JSON {
		return p.answer(v, core.Printable(text))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.Raw(raw)
}

// Raw prints a JSON document as it is.
func (p *Printer) Raw(document []byte) error {
	_, err := fmt.Fprintf(p.Out, "%s\n", plainJSON(document))
	return err
}

// Colours of the signs of a tree, as terminals know them.
var colours = map[core.Status]string{
	core.Completed: "32", core.InProgress: "36", core.Blocked: "33", core.Failed: "31", core.Invalidated: "90",
}

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

// UsualWidth is the assumed width in columns of a terminal that does not report its own.
const UsualWidth = 80

// Width returns the width of the output in columns: COLUMNS, else that of the terminal. It is 0
// without a terminal: files and pipes take any width.
func (p *Printer) Width() int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if !p.OnTerminal() {
		return 0
	}
	return cmp.Or(int(p.size().Col), UsualWidth)
}
