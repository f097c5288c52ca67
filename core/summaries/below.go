// Package summaries composes short texts about frames: a summary of the work below a frame, the text
// with which other work continues from a root, and the instructions for summarizing a history.
package summaries

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// EndedByParent holds ended frames by the id of their parents. They show what was done in a frame that
// ended without a summary.
type EndedByParent map[string][]core.Frame

// Bounds of a composed summary.
const (
	MaxPerParent  = 24   // frames of one parent that flame considers, the latest change first
	MaxLevels     = 3    // levels below the frame
	MaxChars      = 1000 // UTF-16 code units of a summary among other texts
	MaxCharsAlone = 4000 // UTF-16 code units of a summary that stands alone
	maxFull       = 5    // frames of one parent whose summaries may be whole
	maxGoal       = 80   // characters
	maxStart      = 60   // characters of the other summaries
	maxText       = 1000 // characters of any summary or decision
	maxDecisions  = 20   // of a frame; the others are counted
	minText       = 8    // the shortest text worth printing, in UTF-16 code units
)

// Compose returns a summary, of at most room UTF-16 code units, for a frame that ended without
// one: a line for each child that ended, the oldest first. If there is not room for all, it leaves
// out the children of least weight and hints at them. The weightiest children may have whole
// summaries, the others only a beginning; they share the room (core.FairShares), so that a long
// summary takes nothing from the others. A child without a summary gets lines for its own
// children below its goal. A line names the decisions of its frame, each decision once: Compose
// leaves out those in told and adds those that it names. It returns "" for a frame that is open or
// has a summary, or if nothing ended below it. The same frames in any order give the same text.
func (o EndedByParent) Compose(f *core.Frame, told map[string]bool, room int) string {
	if f.Summary != "" || !f.Status.Ended() || len(o[f.ID]) == 0 {
		return ""
	}
	core.MarkDecisionsShown(told, f.Decisions)
	return strings.TrimSuffix(o.lines(f.ID, 0, room, told), "\n")
}

// Ended returns the children of frame id that flame considers, the weightiest first.
func (o EndedByParent) Ended(id string) []core.Frame {
	ranked, _ := o.ranked(id, 0, map[string]bool{})
	return lo.Map(ranked, func(e *outcome, _ int) core.Frame { return *e.frame })
}

// Known describes the children of frame id as Compose does, even if that frame has a summary.
// Each line names the id of its frame.
func (o EndedByParent) Known(id string, told map[string]bool, room int) string {
	named := EndedByParent{}
	for parent, below := range o {
		named[parent] = slices.Clone(below)
		for i := range below {
			named[parent][i].Goal = core.OneLine(below[i].ID, 0) + " " + below[i].Goal
		}
	}
	return named.lines(id, 0, room, told)
}

// weight returns how much an ended frame has to say; later is the number of its siblings that
// changed after it. Decisions count most, because other work has to follow them. Then count
// artifacts, the summary, failure and effort. Each is bounded, so that no amount of one kind
// outweighs the rest. Age counts by order, so that the same frames always have the same weight.
func weight(f *core.Frame, later int) int {
	const most = 10
	effort := max(f.Usage.Tokens()/10_000, int64(f.EndedAt-f.StartedAt)/60_000)
	if f.StartedAt == 0 {
		effort = f.Usage.Tokens() / 10_000
	}
	weight := max(0, 40-4*later) + 10*min(len(f.Decisions), most/2) + 5*min(len(f.Artifacts), most/2) +
		min(len(f.Summary)/40, 2*most) + min(max(0, int(effort)), most)
	if f.Status != core.Completed {
		weight += most
	}
	return weight
}

// An outcome is an ended frame in a composed summary.
type outcome struct {
	frame     *core.Frame
	weight    int
	head      string   // its goal and how it ended
	decisions []string // that no other line names
	decided   []string // the first of these, a line each
	summary   string   // of the frame, cut to the allowed length
	opens     bool     // its children get lines of their own
}

// ranked returns the children of frame id that flame considers, the weightiest first, and whether
// there are others. It leaves out decisions in told.
func (o EndedByParent) ranked(id string, level int, told map[string]bool) (list []*outcome, more bool) {
	below := slices.Clone(o[id])
	slices.SortFunc(below, func(a, b core.Frame) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	below = slices.CompactFunc(below, func(a, b core.Frame) bool { return a.ID == b.ID })
	more = len(below) > MaxPerParent
	later := 0
	for i := range below[:min(len(below), MaxPerParent)] {
		f := &below[i]
		if f.UpdatedAt < below[later].UpdatedAt {
			later = i
		}
		list = append(list, &outcome{frame: f, weight: weight(f, later), head: heading(f), opens: f.Summary == "" && level+1 < MaxLevels && len(o[f.ID]) > 0})
	}
	seen := maps.Clone(told)
	madeFirst(list)
	for _, e := range list {
		e.decisions = core.AppendUnshown(nil, e.frame.Decisions, seen)
		for _, decision := range e.decisions[:min(len(e.decisions), maxDecisions)] {
			e.decided = append(e.decided, core.OneLine(decision, maxText))
		}
	}
	slices.SortStableFunc(list, func(a, b *outcome) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.frame.UpdatedAt, a.frame.UpdatedAt))
	})
	for i, e := range list {
		limit := maxStart
		if i < maxFull {
			limit = maxText
		}
		e.summary = core.OneLine(e.frame.Summary, limit)
	}
	return list, more
}

// madeFirst puts the frames in the order in which they were made.
func madeFirst(list []*outcome) {
	slices.SortFunc(list, func(a, b *outcome) int { return core.CompareCreated(a.frame, b.frame) })
}

// heading returns the goal of an ended frame, and its status unless it is completed.
func heading(f *core.Frame) string {
	head := core.OneLine(f.Goal, maxGoal)
	if f.Status != core.Completed {
		head += " (" + string(f.Status) + ")"
	}
	return head + f.MachineSuffix()
}

// lines describes the children of frame id in at most room UTF-16 code units. That frame is level
// levels below the frame that the summary is for.
func (o EndedByParent) lines(id string, level, room int, told map[string]bool) string {
	ranked, more := o.ranked(id, level, told)
	bullet := strings.Repeat("  ", level) + "- "
	others := bullet + "…\n"
	if room -= core.UTF16Len(others); room < 0 {
		return ""
	}
	fit := 0
	for ; fit < len(ranked); fit++ {
		size := core.UTF16Len(bullet) + core.UTF16Len(ranked[fit].head) + len("\n")
		if size > room {
			more = true
			break
		}
		room -= size
	}
	shown := ranked[:fit]
	for _, e := range shown { // before the lines of their children
		core.MarkDecisionsShown(told, e.decisions)
	}
	texts := o.fill(shown, level, room, told)
	madeFirst(shown)
	var b strings.Builder
	for _, e := range shown {
		b.WriteString(bullet + e.head + texts[e] + "\n")
	}
	if more {
		b.WriteString(others)
	}
	return b.String()
}

// fill shares room among the frames and returns the text behind the heading of each.
func (o EndedByParent) fill(shown []*outcome, level, room int, told map[string]bool) map[*outcome]string {
	needs := make([]int, len(shown))
	for i, e := range shown {
		if needs[i] = room; !e.opens {
			needs[i] = core.UTF16Len(e.text(room))
		}
	}
	texts := make(map[*outcome]string, len(shown))
	core.FairShares(needs, room, func(i, share int) int {
		e := shown[i]
		text := e.text(share)
		if e.opens {
			if inner := o.lines(e.frame.ID, level+1, share-core.UTF16Len(text)-len("\n"), told); inner != "" {
				text += "\n" + strings.TrimSuffix(inner, "\n")
			}
		}
		texts[e] = text
		return core.UTF16Len(text)
	})
	return texts
}

// text returns the summary and the decisions of a frame in at most room UTF-16 code units.
// Decisions get room first, because they cannot be derived from anything else, but leave half of
// it to the summary.
func (e *outcome) text(room int) string {
	summary := ""
	if e.summary != "" {
		summary = ": " + e.summary
	}
	decided := e.decisionsIn(max(room/2, room-core.UTF16Len(summary)))
	room -= core.UTF16Len(decided)
	if core.UTF16Len(summary) > room {
		summary = core.CutUTF16(summary, room)
	}
	return summary + decided
}

// decisionsIn returns the decisions of a frame in at most room UTF-16 code units: those that fit
// whole, and the number of the others.
func (e *outcome) decisionsIn(room int) string {
	const open, end = " (decided: ", ")"
	left := room - len(open) - len(end)
	for n := len(e.decided); n > 0; n-- {
		list := strings.Join(e.decided[:n], "; ")
		if more := len(e.decisions) - n; more > 0 {
			list += fmt.Sprintf("; and %d more", more)
		}
		if core.UTF16Len(list) <= left {
			return open + list + end
		}
	}
	if len(e.decided) == 0 || left < minText {
		return ""
	}
	return open + core.CutUTF16(e.decided[0], left) + end
}
