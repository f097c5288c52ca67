package summaries

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Continuation is a root with the frames below it, or another frame that is handed over.
type Continuation struct {
	Root   core.Frame
	Below  []core.Frame // of any status but invalidated, in any order
	More   bool         // Below lacks some frames
	Above  []core.Frame // of a frame that is no root: the frames above it, the nearest first
	Around []core.Frame // other open frames of the tree, in any order
	Last   string       // the last words of the session that worked in Root
}

// Lengths of the texts in a closing, in characters.
const (
	maxLine  = 300 // a goal, a decision, or the summary of a frame that is not done
	maxWhole = 4000
)

// maxArtifacts is how many artifacts of one frame are named at most.
const maxArtifacts = 200

// Open returns the frames below that are not done: planned, in progress, blocked and failed ones,
// in this order, each the oldest first.
func (c Continuation) Open() (open []core.Frame) {
	for _, status := range []core.Status{core.Planned, core.InProgress, core.Blocked, core.Failed} {
		for _, f := range c.made() {
			if f.Status == status {
				open = append(open, f)
			}
		}
	}
	return open
}

// made returns the frames below, each once, the oldest first.
func (c Continuation) made() []core.Frame {
	below := slices.Clone(c.Below)
	slices.SortFunc(below, func(a, b core.Frame) int { return core.CompareCreated(&a, &b) })
	return slices.CompactFunc(below, func(a, b core.Frame) bool { return a.ID == b.ID })
}

// Text returns what an agent needs to continue, in at most room UTF-16 code units: the goal, the
// outcome, artifacts and decisions with their frames, open work and next steps. If there is not
// room for all, the parts share it (core.FairShares); each counts the lines that it leaves out, the
// later ones, or the earlier ones of artifacts and decisions. Every text of a frame stands on one
// line, so that it cannot pose as another part. The same frames in any order give the same text.
func (c Continuation) Text(room int) string {
	parts := []part{
		{lines: c.head()},
		{title: "Above it:", lines: c.above()},
		c.outcome(room),
		{title: "Made:", lines: c.artifacts(), late: true},
		{title: "Decided:", lines: c.decisions(), late: true},
		{title: "Last words:", lines: lo.Compact([]string{core.OneLine(c.Last, maxWhole)})},
		{title: "Left open:", lines: c.leftOpen()},
		{title: "Next steps:", lines: c.next()},
	}
	needs, texts := make([]int, len(parts)), make([]string, len(parts))
	for i, p := range parts {
		needs[i] = p.need()
	}
	core.FairShares(needs, room, func(i, share int) int {
		texts[i] = parts[i].text(share)
		return share
	})
	return strings.TrimSuffix(strings.Join(texts, ""), "\n")
}

// head returns the lines about the root itself.
func (c Continuation) head() []string {
	lines := []string{fmt.Sprintf("%s (%s): %s", core.OneLine(c.Root.ID, 0), c.Root.Status, core.OneLine(c.Root.Goal, maxWhole)) + c.Root.MachineSuffix()}
	if c.Root.SuccessCriteria != "" {
		lines = append(lines, "Done means: "+core.OneLine(c.Root.SuccessCriteria, maxLine))
	}
	if c.More {
		lines = append(lines, "Some frames below it are not listed here.")
	}
	return lines
}

// above returns a line for each frame above, with what was decided there.
func (c Continuation) above() (lines []string) {
	for _, f := range c.Above {
		line := fmt.Sprintf("- %s (%s) %s", core.OneLine(f.ID, 0), f.Status, core.OneLine(f.Goal, maxWhole)) + f.MachineSuffix()
		if f.SuccessCriteria != "" {
			line += "; done means: " + core.OneLine(f.SuccessCriteria, maxLine)
		}
		if len(f.Decisions) > 0 {
			line += "; decided: " + core.OneLine(strings.Join(f.Decisions, "; "), maxWhole)
		}
		lines = append(lines, line)
	}
	return lines
}

// place says below which frame a frame around lies.
func (c Continuation) place(f core.Frame) string {
	for _, above := range slices.Concat(c.Above, c.Around) {
		if above.ID == f.Parent {
			return fmt.Sprintf(" [below %s %s]", core.OneLine(above.ID, 0), core.OneLine(above.Goal, maxGoal))
		}
	}
	return ""
}

// outcome returns the root's summary and a line for each of its children.
func (c Continuation) outcome(room int) part {
	p := part{title: "Outcome:"}
	if c.Root.Summary != "" {
		p.lines = []string{core.OneLine(c.Root.Summary, min(maxWhole, max(maxLine, room/3)))}
	}
	ended, told := EndedByParent{}, map[string]bool{}
	for _, f := range append(c.made(), c.Root) {
		core.MarkDecisionsShown(told, f.Decisions) // decisions have a part of their own
		if f.ID != c.Root.ID && f.Status.Ended() {
			ended[f.Parent] = append(ended[f.Parent], f)
		}
	}
	if below := ended.Known(c.Root.ID, told, max(maxLine, room/3)); below != "" {
		p.lines = append(p.lines, strings.Split(strings.TrimSuffix(below, "\n"), "\n")...)
	}
	return p
}

// artifacts returns a line for each frame that has artifacts, each artifact once.
func (c Continuation) artifacts() (lines []string) {
	seen := map[string]bool{}
	for _, f := range append([]core.Frame{c.Root}, c.made()...) {
		var fresh []string
		for _, artifact := range f.Artifacts {
			if line := core.OneLine(artifact, maxLine); !seen[line] && len(fresh) < maxArtifacts {
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

// decisions returns the decisions, each once.
func (c Continuation) decisions() (lines []string) {
	seen := map[string]bool{}
	for _, f := range append([]core.Frame{c.Root}, c.made()...) {
		for _, decision := range f.Decisions {
			if line := core.OneLine(decision, maxLine); !seen[line] {
				seen[line] = true
				lines = append(lines, "- "+line+c.origin(f))
			}
		}
	}
	return lines
}

// origin names the frame of an artifact or decision, unless that is the root.
func (c Continuation) origin(f core.Frame) string {
	if f.ID == c.Root.ID {
		return ""
	}
	return fmt.Sprintf(" [%s %s]", core.OneLine(f.ID, 0), core.OneLine(f.Goal, maxGoal))
}

// around returns the open frames elsewhere in the tree, the oldest first.
func (c Continuation) around() []core.Frame { return Continuation{Below: c.Around}.Open() }

// leftOpen returns a line, with the summary and the place, for each frame that was begun and is
// not done.
func (c Continuation) leftOpen() (lines []string) {
	for _, f := range slices.Concat(c.Open(), c.around()) {
		if f.Status == core.Planned {
			continue
		}
		line := fmt.Sprintf("- %s (%s) %s", core.OneLine(f.ID, 0), f.Status, core.OneLine(f.Goal, maxLine)) + f.MachineSuffix() + c.place(f)
		if f.Summary != "" {
			line += ": " + core.OneLine(f.Summary, maxLine)
		}
		lines = append(lines, line)
	}
	return lines
}

// next returns a line for each planned frame, those below first, and says so if there is none.
func (c Continuation) next() (lines []string) {
	for _, f := range slices.Concat(c.Open(), c.around()) {
		if f.Status != core.Planned {
			continue
		}
		line := fmt.Sprintf("- take up %s: %s", core.OneLine(f.ID, 0), core.OneLine(f.Goal, maxLine)) + f.MachineSuffix() + c.place(f)
		if f.SuccessCriteria != "" {
			line += " (done means: " + core.OneLine(f.SuccessCriteria, maxLine) + ")"
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		return lines
	}
	above, open := lo.Find(c.Above, func(f core.Frame) bool { return f.Status == core.InProgress })
	switch {
	case len(c.Open())+len(c.Around) > 0:
		return []string{"- nothing is planned; settle what is left open"}
	case open:
		return []string{fmt.Sprintf("- nothing else is planned; then go on with %s, which is open", core.OneLine(above.ID, 0))}
	case c.Root.Status == core.InProgress:
		return []string{"- nothing else is planned"}
	}
	return []string{"- nothing is planned, and nothing is left open"}
}

// A part is a titled list of lines in a closing.
type part struct {
	title string
	lines []string
	late  bool // the last lines matter most
}

// need returns the room for the whole part.
func (p part) need() int {
	if len(p.lines) == 0 {
		return 0
	}
	need := lo.SumBy(p.lines, length)
	if p.title != "" {
		need += length(p.title)
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

// length returns the UTF-16 code units of a line with its end.
func length(line string) int { return core.UTF16Len(line) + len("\n") }
