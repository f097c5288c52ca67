// Package printer prints the answers of commands: as text that cannot steer a
// terminal, or as JSON.
package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/agents/glance"
	"flame/core"
	"flame/core/fold"
	"flame/project/files"
	"flame/project/usage"
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
	return p.answer(v, Printable(render.ForShell(text)))
}

// Draw is Print for a text with the signs of a tree, which a terminal shows in
// colour.
func (p *Printer) Draw(v any, text string) error {
	return p.answer(v, p.coloured(Printable(render.ForShell(text))))
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
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := p.Out.Write(plainJSON(document.Bytes()))
	return err
}

// Frame prints a frame with --json, else the text.
func (p *Printer) Frame(f core.Frame, text string) error { return p.Print(whole(f), text) }

// Glance prints a look at the work of a session with --json, else the text.
func (p *Printer) Glance(g glance.Glance, text string) error {
	return p.Print(struct {
		core.Frame
		glance.Glance
	}{whole(g.Frame), g}, text)
}

// Frames prints a list of frames with --json, else the text.
func (p *Printer) Frames(list []core.Frame, text string) error {
	return p.Print(lo.Map(list, func(f core.Frame, _ int) core.Frame { return whole(f) }), text)
}

// Details prints a frame and what is known of it with --json, else the text.
func (p *Printer) Details(d view.Details, text string) error {
	shown := detailed{Found: view.Found{Frame: whole(d.Frame), Composed: d.Composed}, Closing: d.Closing, Folded: d.Folded, Metered: d.Metered}
	if len(d.Files.Files) > 0 || d.Files.Trouble != "" {
		shown.Changed = &d.Files
	}
	return p.Print(shown, text)
}

// A detailed is what is printed of a frame.
type detailed struct {
	view.Found
	Closing string          `json:"closing,omitempty"`
	Folded  *fold.Spared    `json:"folded,omitempty"`
	Metered []usage.Metered `json:"metered,omitempty"`
	Changed *files.List     `json:"changed,omitempty"`
}

// Found prints what a search found with --json, else the text.
func (p *Printer) Found(list []view.Found, text string) error {
	return p.Print(lo.Map(list, func(f view.Found, _ int) view.Found { f.Frame = whole(f.Frame); return f }), text)
}

// whole returns f with empty lists instead of those that would be null in JSON.
func whole(f core.Frame) core.Frame {
	f.Artifacts = append([]string{}, f.Artifacts...)
	f.Decisions = append([]string{}, f.Decisions...)
	return f
}

// steersTerminal reports whether r is more than a character to a terminal: a
// control, or one that changes the direction of writing. Texts of frames come
// from models, files and imports, and cannot be trusted with those.
func steersTerminal(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Printable drops from text what steers a terminal, except for line ends and
// tabs.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && steersTerminal(r) {
			return -1
		}
		return r
	}, text)
}

// plainJSON escapes what steers a terminal in a JSON document, without changing
// its meaning: encoding/json leaves DEL, C1 controls and others as they are.
func plainJSON(document []byte) []byte {
	if !bytes.ContainsFunc(document, func(r rune) bool { return r >= 0x7f && steersTerminal(r) }) {
		return document
	}
	var out []byte
	for _, r := range string(document) {
		if r >= 0x7f && steersTerminal(r) {
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
		return p.answer(v, Printable(text))
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
