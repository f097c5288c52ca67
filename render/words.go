// Package render writes the texts that several doors show: what a model reads
// from a tool and a person in a shell. It decides nothing and reads no store.
package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/core"
)

// MaxGoal is how much of a goal a reply repeats, in characters.
const MaxGoal = 200

// Quote returns a goal as replies show it.
func Quote(goal string) string { return `"` + core.OneLine(goal, MaxGoal) + `"` }

// Bullets returns texts one per line, under a heading; it is empty without any.
func Bullets(heading string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return heading + "\n- " + strings.Join(items, "\n- ") + "\n"
}

// Field returns "name: value" and a newline; it is empty for an empty value.
func Field(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value + "\n"
}

// When returns a time for people.
func When(t core.Millis) string {
	if t == 0 {
		return ""
	}
	return t.Time().Format(time.RFC3339)
}

// Count returns a number of things in words: "1 frame", "2 frames", "3
// retries".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, is := strings.CutSuffix(thing, "ry"); is {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Money returns an amount of US dollars for people.
func Money(usd float64) string { return fmt.Sprintf("$%.4f", usd) }

// maxShort is how much of a frame's text fits in a line of a terminal, in characters.
const maxShort = 100

// Short cuts a frame's text to what fits in a line of a terminal.
func Short(text string) string { return core.OneLine(text, maxShort) }

// ShortFrame returns a frame in one line of a terminal.
func ShortFrame(f core.Frame) string {
	return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, Short(f.Goal)) + f.Mark()
}

// ShortFrames returns frames one per line.
func ShortFrames(frames []core.Frame) string {
	return strings.Join(lo.Map(frames, func(f core.Frame, _ int) string { return ShortFrame(f) }), "\n")
}

// Megabytes returns a size on disk for people.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// Ago returns how long ago something was.
func Ago(now, then core.Millis) string { return Duration(int64(max(0, now-then))) + " ago" }

// cutLines cuts the lines of a table to a width in characters; 0 is no limit.
func cutLines(table string, width int) string {
	if width == 0 {
		return table
	}
	var b strings.Builder
	for line := range strings.Lines(table) {
		text := []rune(strings.TrimSuffix(line, "\n"))
		if len(text) > width {
			text = append(text[:width-1], '…')
		}
		b.WriteString(string(text) + "\n")
	}
	return b.String()
}
