// Package render writes the texts that several doors show: to a model as the answer of a tool, and
// to a person in a shell. It decides nothing and reads no store.
package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
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
	var b strings.Builder
	b.WriteString(heading + "\n")
	for _, item := range items {
		b.WriteString("- " + core.OneLine(item, 0) + "\n") // so that no item can pose as another, or as a heading
	}
	return b.String()
}

// Field returns "name: value" and a newline; it is empty for an empty value.
func Field(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value + "\n"
}

// Time returns a time for people who read it at now: of today only the hour, of another year the year, too. With
// a now of 0 it is exact, for texts that are read later. It is empty for a time of 0.
func Time(t, now core.Millis) string {
	at, day := t.Time().Local(), now.Time().Local()
	switch {
	case t == 0:
		return ""
	case now == 0:
		return t.Time().Format(time.RFC3339)
	case at.Year() != day.Year():
		return at.Format("Jan 2 2006 15:04")
	case at.YearDay() != day.YearDay():
		return at.Format("Jan 2 15:04")
	}
	return at.Format("15:04")
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

// maxShort is how much of a frame's text fits in a line of a terminal, in characters.
const maxShort = 100

// Short cuts a frame's text to the length of a line of a terminal.
func Short(text string) string { return core.OneLine(text, maxShort) }

// ShortFrame returns a frame in one line of a terminal.
func ShortFrame(f core.Frame) string {
	return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, Short(f.Goal)) + f.MachineSuffix()
}

// ShortFrames returns frames one per line.
func ShortFrames(frames []core.Frame) string {
	return strings.Join(lo.Map(frames, func(f core.Frame, _ int) string { return ShortFrame(f) }), "\n")
}

// Ago returns how long ago something was, as the page says it.
func Ago(now, then core.Millis) string {
	if now-then < 5000 {
		return "just now"
	}
	return core.Span(now-then) + " ago"
}

// Table aligns rows of cells, separated by tabs, for a terminal of that width; 0 is no
// limit.
func Table(width int, rows []string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(rows, "\n"))
	_ = w.Flush() // a strings.Builder never fails
	if width == 0 {
		return b.String()
	}
	lines := strings.Split(b.String(), "\n")
	return strings.Join(lo.Map(lines, func(line string, _ int) string { return CutColumns(line, width) }), "\n")
}

// maxListed is how many things a list in a reply names.
const maxListed = 20

// listed returns a line for each of the first things, and the number of the others.
func listed[T any](all []T, line func(T) string) string {
	var b strings.Builder
	for _, one := range all[:min(len(all), maxListed)] {
		b.WriteString("- " + line(one) + "\n")
	}
	if more := len(all) - maxListed; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// Duration returns a duration in one unit, as tables of subagents have it: 250ms, 1.5s, 2.0m, 3.3h.
func Duration(ms int64) string {
	const second, minute, hour = 1000, 60_000, 3_600_000
	switch {
	case ms < second:
		return strconv.FormatInt(ms, 10) + "ms"
	case ms < minute:
		return oneDecimal(ms, second) + "s"
	case ms < hour:
		return oneDecimal(ms, minute) + "m"
	}
	return oneDecimal(ms, hour) + "h"
}

// oneDecimal returns n/unit with one decimal, exact halves rounded up. Floats hold
// only the halves .25 and .75 exactly, and strconv rounds .25 down, to even.
func oneDecimal(n, unit int64) string {
	x := float64(n) / float64(unit)
	if x == math.Trunc(x)+0.25 {
		x += 0.05
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
