package core

import (
	"cmp"
	"slices"
	"strings"
)

// Outcomes are ended frames by the id of the frame directly above each. They tell
// what was done in a frame that ended without a summary.
type Outcomes map[string][]Frame

// Bounds of a composed summary.
const (
	OutcomesEach   = 5 // frames of one parent, the latest change first
	OutcomeLevels  = 3 // levels below the frame
	outcomeGoal    = 80
	outcomeText    = 200  // characters of a summary, and of all decisions of a frame
	outcomesLength = 1000 // UTF-16 code units of the whole
)

// Compose returns a summary for a frame that ended without one: what the frames
// directly below it say, a line each, those made first first; where one of these has no
// summary either, the lines of those below it. It leaves out decisions that are in told,
// and adds those it tells. It returns "" for other frames, or if nothing is known.
func (o Outcomes) Compose(f *Frame, told map[string]bool) string {
	if f.Summary != "" || !f.Status.Ended() || len(o[f.ID]) == 0 {
		return ""
	}
	for _, decision := range f.Decisions {
		told[decision] = true
	}
	var b strings.Builder
	size := 0
	for _, line := range o.lines(f.ID, 0, told) {
		if size += units(line) + len("\n"); size > outcomesLength {
			b.WriteString("- …\n")
			break
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines returns the lines of the frames directly below frame id, which is so many
// levels below the one that the summary is for.
func (o Outcomes) lines(id string, level int, told map[string]bool) (lines []string) {
	below := slices.Clone(o[id])
	slices.SortFunc(below, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	below = slices.CompactFunc(below, func(a, b Frame) bool { return a.ID == b.ID })
	more := len(below) > OutcomesEach
	below = below[:min(len(below), OutcomesEach)]
	slices.SortFunc(below, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	indent := strings.Repeat("  ", level)
	for i := range below {
		f := &below[i]
		line, says := f.outcome(told)
		var inner []string
		if f.Summary == "" && level+1 < OutcomeLevels {
			inner = o.lines(f.ID, level+1, told)
		}
		if says || len(inner) > 0 {
			lines = append(append(lines, indent+"- "+line), inner...)
		}
	}
	if more && len(lines) > 0 {
		lines = append(lines, indent+"- …")
	}
	return lines
}

// outcome describes an ended frame in one line; says is false if it has only a goal.
// It leaves out decisions that are in told, and adds those it tells.
func (f *Frame) outcome(told map[string]bool) (line string, says bool) {
	line = OneLine(f.Goal, outcomeGoal)
	if f.Status != Completed {
		line += " (" + string(f.Status) + ")"
	}
	if f.Summary != "" {
		line += ": " + OneLine(f.Summary, outcomeText)
	}
	decisions := untold(f.Decisions, told)
	for _, decision := range decisions {
		told[decision] = true
	}
	if len(decisions) > 0 {
		line += " (decided: " + OneLine(joinList(decisions, "; ", outcomeText), outcomeText) + ")"
	}
	return line, f.Summary != "" || len(decisions) > 0
}

// untold returns the decisions that are not in told.
func untold(decisions []string, told map[string]bool) (list []string) {
	for _, decision := range decisions {
		if !told[decision] {
			list = append(list, decision)
		}
	}
	return list
}
