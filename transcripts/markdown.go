package transcripts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"flame/core"
)

// JSONL writes messages as they are, one JSON document per line.
func JSONL(w io.Writer, messages iter.Seq[core.Message]) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for m := range messages {
		if err := encoder.Encode(m); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Markdown writes messages for people, under a title. It puts all texts into fences that they
// cannot close, so that no text can look like a heading or another speaker's words. At the end
// it counts unknown entries.
func Markdown(w io.Writer, title string, messages iter.Seq[core.Message]) error {
	out := &page{w: bufio.NewWriter(w)}
	out.printf("# %s\n", inline(title))
	unknown := 0
	for m := range messages {
		if m.Role == core.RoleOther {
			if m.Unknown() {
				unknown++
			}
			continue
		}
		out.message(m)
	}
	if unknown > 0 {
		out.printf("\n---\n\n%d other entries of the log are not shown.\n", unknown)
	}
	return out.w.Flush()
}

// A page is the output. Its writer remembers the first error.
type page struct {
	w    *bufio.Writer
	last string // heading of the previous message
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// message writes one message. The lines of one answer share a heading.
func (p *page) message(m core.Message) {
	if m.Synthetic && len(m.Parts) == 0 {
		return // it only reports usage
	}
	if heading := headingOf(m); heading != p.last || m.ID == "" {
		p.last = heading
		p.printf("\n## %s\n", heading)
		if m.Time != 0 {
			p.printf("\n*%s*\n", m.Time.Time().Format("2006-01-02 15:04:05Z07:00"))
		}
	}
	for _, part := range m.Parts {
		p.part(part)
	}
	if m.Error != "" {
		p.block("Error", "text", m.Error)
	}
}

// headingOf names the speaker. The id distinguishes answers of the same speaker.
func headingOf(m core.Message) string {
	voice := m.SpeakerLabel()
	heading := strings.ToUpper(voice[:1]) + voice[1:]
	for _, of := range []struct{ what, is string }{{"agent", m.Agent}, {"model", m.Model}, {"answer", m.ID}} {
		if of.is != "" {
			heading += fmt.Sprintf(" · %s %s", of.what, inline(of.is))
		}
	}
	return heading
}

func (p *page) part(part core.Part) {
	switch part.Type {
	case core.PartText:
		p.block("", "text", part.Text)
	case core.PartReasoning:
		p.block("Reasoning", "text", part.Text)
	case core.PartToolCall:
		p.block("Call of "+inline(part.Tool)+" "+inline(part.CallID), "json", indented(part.Input))
	case core.PartToolResult:
		label := "Result"
		if part.Failed {
			label = "Error"
		}
		p.block(label+" of "+inline(part.CallID), "text", part.Text)
	}
}

// block writes a text in a fence that is longer than any fence in it.
func (p *page) block(label, language, text string) {
	if label != "" {
		p.printf("\n**%s**\n", label)
	}
	text = strings.ToValidUTF8(core.Printable(text), "\uFFFD")
	fence := core.CodeFence(text, 3)
	p.printf("\n%s%s\n%s", fence, language, text)
	if !strings.HasSuffix(text, "\n") {
		p.printf("\n")
	}
	p.printf("%s\n", fence)
}

// inline returns a text in one line without special meaning in Markdown.
func inline(text string) string {
	text = strings.ToValidUTF8(core.Printable(strings.Join(strings.Fields(text), " ")), "\uFFFD")
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]<>&#|~!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// indented returns JSON with indentation, and other texts unchanged.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
