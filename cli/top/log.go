package top

import (
	"iter"
	"strings"
	"time"

	"flame/core"
)

// heading begins the line that says who speaks. What was said is indented, so that no text
// can pass for one.
const heading = "── "

// What of a log is shown, in bytes: of one part of a message its beginning, of all the end.
const (
	maxPart = 20_000
	maxLog  = 1 << 20
)

// logText returns a log for people to read.
func logText(messages iter.Seq2[core.Message, error], zone *time.Location) (string, error) {
	var kept []string
	size, left := 0, false
	for m, err := range messages {
		if err != nil {
			return "", core.Unavailablef(err, "the transcript cannot be read: %v", err)
		}
		text := messageText(m, zone)
		kept, size = append(kept, text), size+len(text)
		for ; size > maxLog && len(kept) > 1; left = true {
			size -= len(kept[0])
			kept = kept[1:]
		}
	}
	text := strings.Join(kept, "")
	switch {
	case text == "":
		return "Nothing was said yet.", nil
	case left:
		return "(what was before is left out; `flame log` writes all of it)\n" + text, nil
	}
	return text, nil
}

// messageText returns a message for people to read; it is empty for what only a host uses.
func messageText(m core.Message, zone *time.Location) string {
	if m.Role == core.RoleOther || len(m.Parts) == 0 && m.Error == "" {
		return ""
	}
	who := "user"
	switch {
	case m.Summary:
		who = "summary of what was before"
	case m.Role == core.RoleAssistant:
		who = "assistant"
	case m.Synthetic:
		who = "host"
	}
	for _, more := range []string{m.Agent, m.Model} {
		if more != "" {
			who += " · " + core.OneLine(more, 60)
		}
	}
	if m.Time != 0 {
		who += " · " + m.Time.Time().In(zone).Format("15:04:05")
	}
	var b strings.Builder
	b.WriteString(heading + who + "\n")
	for _, part := range m.Parts {
		b.WriteString(partText(part))
	}
	b.WriteString(indented("error: ", m.Error))
	return b.String()
}

func partText(part core.Part) string {
	switch part.Type {
	case core.PartText:
		return indented("", part.Text)
	case core.PartReasoning:
		return indented("thinks: ", part.Text)
	case core.PartToolCall:
		return indented("→ "+core.OneLine(part.Tool, 100)+" ", string(part.Input))
	case core.PartToolResult:
		if part.Failed {
			return indented("✗ ", part.Text)
		}
		return indented("← ", part.Text)
	}
	return ""
}

// indented returns a text in indented lines behind what it is; it is empty without a text.
func indented(what, text string) string {
	if text = strings.Trim(text, "\r\n"); text == "" {
		return ""
	}
	text = core.Cut(text, maxPart)
	return "  " + what + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
