package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
	"flame/render"
)

// print writes v as JSON with --json, else the text.
func (a *App) print(v any, text string) error { return a.answer(v, printable(render.ForShell(text))) }

// draw is print for a text with the signs of a tree, which a terminal shows in
// colour.
func (a *App) draw(v any, text string) error {
	return a.answer(v, a.coloured(printable(render.ForShell(text))))
}

func (a *App) answer(v any, text string) error {
	if !a.json {
		_, err := fmt.Fprintln(a.Stdout, strings.TrimRight(text, "\n"))
		return err
	}
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := a.Stdout.Write(plainJSON(document.Bytes()))
	return err
}

// frame prints a frame with --json, else the text.
func (a *App) frame(f core.Frame, text string) error { return a.print(whole(f), text) }

// frames prints a list of frames with --json, else the text.
func (a *App) frames(list []core.Frame, text string) error {
	return a.print(lo.Map(list, func(f core.Frame, _ int) core.Frame { return whole(f) }), text)
}

// whole returns f with lists that are empty where they would be null in JSON.
func whole(f core.Frame) core.Frame {
	f.Artifacts = append([]string{}, f.Artifacts...)
	f.Decisions = append([]string{}, f.Decisions...)
	return f
}

// steersTerminal reports whether a terminal takes r for more than a character:
// controls, and those that change the direction of writing. Texts of frames come
// from models, files and imports, and are not to be trusted with it.
func steersTerminal(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// printable drops from text what steers a terminal, but for line ends and tabs.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && steersTerminal(r) {
			return -1
		}
		return r
	}, text)
}

// plainJSON escapes what steers a terminal in a JSON document, whose meaning
// stays the same: encoding/json leaves DEL, C1 controls and others as they are.
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

// oneLine brings a frame's text to what fits in a line of a terminal.
func oneLine(text string) string { return core.OneLine(text, 100) }

// line returns a frame in one line.
func line(f core.Frame) string { return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, oneLine(f.Goal)) }

func lines(frames []core.Frame) string {
	return strings.Join(lo.Map(frames, func(f core.Frame, _ int) string { return line(f) }), "\n")
}
