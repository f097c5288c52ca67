// Package closing tells in one text what a root leaves to those who go on from it.
package closing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flame/core"
	"flame/core/outcome"
)

// A Closing is a root with what is known of the frames below it.
type Closing struct {
	Root  core.Frame
	Below []core.Frame // of any status but invalidated, in any order
	More  bool         // there are frames below that are not in Below
}

// Lengths of the texts in a closing, in characters.
const (
	maxGoal  = 80
	maxText  = 300 // a decision, or what is said of a frame that is left open
	maxWhole = 4000
)

// maxArtifacts is how many artifacts of one frame are named at most.
const maxArtifacts = 200

// Open returns the frames below that are not done: planned, in progress, blocked and
// failed ones, in this order, those made first first.
func (c Closing) Open() (open []core.Frame) {
	for _, status := range []core.Status{core.Planned, core.InProgress, core.Blocked, core.Failed} {
		for _, f := range c.made() {
			if f.Status == status {
				open = append(open, f)
			}
		}
	}
	return open
}

// made returns the frames below in the order in which they were made, each once.
func (c Closing) made() []core.Frame {
	below := slices.Clone(c.Below)
	slices.SortFunc(below, func(a, b core.Frame) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(below, func(a, b core.Frame) bool { return a.ID == b.ID })
}

// Text returns all that is needed to go on, in at most room UTF-16 code units: the goal,
// what came of it, what was made and decided, with the frames that did it, what is left
// open and the next steps. Where there is not room for all, each part gets an equal share,
// what it does not need goes to the others, and its later lines, or the earlier ones of
// what was decided and made, are counted. Every text of a frame stands on one line, so
// that it cannot pose as another part. The same frames in any order give the same text.
func (c Closing) Text(room int) string {
	parts := []part{
		{lines: c.head()},
		c.outcome(room),
		{title: "Made:", lines: c.artifacts(), late: true},
		{title: "Decided:", lines: c.decisions(), late: true},
		{title: "Left open:", lines: c.leftOpen()},
		{title: "Next steps:", lines: c.next()},
	}
	rooms := shares(parts, room)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p.text(rooms[i]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// head returns what the root is about.
func (c Closing) head() []string {
	lines := []string{fmt.Sprintf("%s (%s): %s", core.OneLine(c.Root.ID, 0), c.Root.Status, core.OneLine(c.Root.Goal, maxText)) + c.Root.Mark()}
	if c.Root.SuccessCriteria != "" {
		lines = append(lines, "Done means: "+core.OneLine(c.Root.SuccessCriteria, maxText))
	}
	if c.More {
		lines = append(lines, "There is more below it than is told here.")
	}
	return lines
}

// outcome returns the root's summary, and what was done in the frames directly below it.
func (c Closing) outcome(room int) part {
	p := part{title: "Outcome:"}
	if c.Root.Summary != "" {
		p.lines = []string{core.OneLine(c.Root.Summary, min(maxWhole, max(maxText, room/3)))}
	}
	ended, told := outcome.Below{}, map[string]bool{}
	for _, f := range append(c.made(), c.Root) {
		for _, decision := range f.Decisions { // they have a part of their own
			told[decision] = true
		}
		if f.ID != c.Root.ID && f.Status.Ended() {
			ended[f.Parent] = append(ended[f.Parent], f)
		}
	}
	if below := ended.Known(c.Root.ID, told, max(maxText, room/3)); below != "" {
		p.lines = append(p.lines, strings.Split(strings.TrimSuffix(below, "\n"), "\n")...)
	}
	return p
}

// artifacts returns what was made, a line for each frame that made some.
func (c Closing) artifacts() (lines []string) {
	seen := map[string]bool{}
	for _, f := range append([]core.Frame{c.Root}, c.made()...) {
		var fresh []string
		for _, artifact := range f.Artifacts {
			if line := core.OneLine(artifact, maxText); !seen[line] && len(fresh) < maxArtifacts {
				seen[line] = true
				fresh = append(fresh, line)
			}
		}
		if len(fresh) > 0 {
			lines = append(lines, "- "+core.OneLine(strings.Join(fresh, ", "), maxWhole)+c.origin(f))
		}
	}
	return lines
}

// decisions returns what was decided, each once.
func (c Closing) decisions() (lines []string) {
	seen := map[string]bool{}
	for _, f := range append([]core.Frame{c.Root}, c.made()...) {
		for _, decision := range f.Decisions {
			if line := core.OneLine(decision, maxText); !seen[line] {
				seen[line] = true
				lines = append(lines, "- "+line+c.origin(f))
			}
		}
	}
	return lines
}

// origin names the frame that something comes from, unless that is the root.
func (c Closing) origin(f core.Frame) string {
	if f.ID == c.Root.ID {
		return ""
	}
	return fmt.Sprintf(" [%s %s]", core.OneLine(f.ID, 0), core.OneLine(f.Goal, maxGoal))
}

// leftOpen returns the frames that were begun and are not done, with what stands in the
// way.
func (c Closing) leftOpen() (lines []string) {
	for _, f := range c.Open() {
		if f.Status == core.Planned {
			continue
		}
		line := fmt.Sprintf("- %s (%s) %s", core.OneLine(f.ID, 0), f.Status, core.OneLine(f.Goal, maxText)) + f.Mark()
		if f.Summary != "" {
			line += ": " + core.OneLine(f.Summary, maxText)
		}
		lines = append(lines, line)
	}
	return lines
}

// next returns the frames that are planned, and says so if nothing is.
func (c Closing) next() (lines []string) {
	for _, f := range c.Open() {
		if f.Status != core.Planned {
			continue
		}
		line := fmt.Sprintf("- take up %s: %s", core.OneLine(f.ID, 0), core.OneLine(f.Goal, maxText)) + f.Mark()
		if f.SuccessCriteria != "" {
			line += " (done means: " + core.OneLine(f.SuccessCriteria, maxText) + ")"
		}
		lines = append(lines, line)
	}
	switch open := c.Open(); {
	case len(lines) > 0:
	case len(open) > 0:
		lines = []string{"- nothing is planned; settle what is left open"}
	default:
		lines = []string{"- nothing is planned, and nothing is left open"}
	}
	return lines
}

// A part is some lines of a closing.
type part struct {
	title string
	lines []string
	late  bool // the later lines matter more
}

// need returns the room for the whole part.
func (p part) need() int {
	if len(p.lines) == 0 {
		return 0
	}
	need := 0
	if p.title != "" {
		need = length(p.title)
	}
	for _, line := range p.lines {
		need += length(line)
	}
	return need
}

// text returns as many lines as fit within room, and the number of the others.
func (p part) text(room int) string {
	if len(p.lines) == 0 {
		return ""
	}
	lines, title := slices.Clone(p.lines), ""
	if p.title != "" {
		title = p.title + "\n"
	}
	whole := p.need() <= room
	left := room - len(title)
	if !whole {
		left -= length("- and 100000 others")
	}
	if p.late {
		slices.Reverse(lines)
	}
	n := 0
	for n < len(lines) && left >= length(lines[n]) {
		left -= length(lines[n])
		n++
	}
	shown := lines[:n]
	if p.late {
		slices.Reverse(shown)
	}
	others := ""
	if more := len(lines) - n; more > 0 {
		if others = fmt.Sprintf("- and %d others\n", more); length(others) > room {
			return ""
		}
	}
	if len(shown) == 0 && others == "" || len(title) > room-len(others) {
		return ""
	}
	text := strings.Join(append(shown, ""), "\n")
	if p.late {
		return title + others + text
	}
	return title + text + others
}

// shares divides room among the parts: those that need least are asked first, so that the
// others share what they leave.
func shares(parts []part, room int) []int {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].need(), parts[b].need()) })
	rooms := make([]int, len(parts))
	for n, i := range order {
		rooms[i] = min(parts[i].need(), room/(len(order)-n))
		room -= rooms[i]
	}
	return rooms
}

// length returns the UTF-16 code units of a line with its end.
func length(line string) int { return core.Units(line) + len("\n") }
