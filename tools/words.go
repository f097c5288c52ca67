package tools

import (
	"fmt"
	"strings"
	"time"

	"flame/core"
	"flame/project"
)

// maxGoal is how much of a goal a reply repeats, in characters.
const maxGoal = 200

// quote returns a goal as replies show it.
func quote(goal string) string { return `"` + core.OneLine(goal, maxGoal) + `"` }

// named returns a frame in one line: id, status, goal.
func named(f core.Frame) string { return fmt.Sprintf("%s (%s) %s", f.ID, f.Status, quote(f.Goal)) }

// parentLine tells a frame's parent.
func parentLine(parent *core.Frame) string {
	if parent == nil {
		return "Parent: none (a root)\n"
	}
	return "Parent: " + named(*parent) + "\n"
}

// currentLine tells where the caller works now.
func currentLine(id string) string {
	if id == "" {
		return "Current frame: none; flame_push starts one"
	}
	return "Current frame: " + id
}

// namedList returns frames one a line, under a heading; nothing without any.
func namedList(heading string, frames []core.Frame) string {
	return tally(heading, project.Tally{First: frames[:min(len(frames), maxListed)], Count: len(frames)})
}

// tally returns the frames that t names one a line, under a heading, and the number of
// the others; nothing without any.
func tally(heading string, t project.Tally) string {
	if t.Count == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(heading + "\n")
	for _, f := range t.First {
		b.WriteString("- " + named(f) + "\n")
	}
	if more := t.Count - len(t.First); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

// maxListed is how many frames a list in a reply names.
const maxListed = 20

// bullets returns texts one a line, under a heading; nothing without any.
func bullets(heading string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return heading + "\n- " + strings.Join(items, "\n- ") + "\n"
}

// field returns "name: value" and a newline; nothing for an empty value.
func field(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value + "\n"
}

// when returns a time for people.
func when(t core.Millis) string {
	if t == 0 {
		return ""
	}
	return t.Time().Format(time.RFC3339)
}

// ago returns the time between two points.
func ago(now, then core.Millis) string { return core.FormatDuration(int64(max(0, now-then))) + " ago" }

// seconds returns ms with the same in seconds behind it.
func seconds(ms int64) string { return fmt.Sprintf("%d ms (%.1f s)", ms, float64(ms)/1000) }

// Count returns a number of things in words: "1 frame", "2 frames", "3 retries".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, is := strings.CutSuffix(thing, "ry"); is {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Money returns an amount of US dollars as people read it.
func Money(usd float64) string { return fmt.Sprintf("$%.4f", usd) }

// countLine tells how many frames there are of each status.
func countLine(counts map[core.Status]int) string {
	total := 0
	var parts []string
	for _, status := range core.Statuses {
		if n := counts[status]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if total == 0 {
		return "0 frames"
	}
	return Count(total, "frame") + ": " + strings.Join(parts, ", ")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
