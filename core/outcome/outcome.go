// Package outcome tells what was done below a frame, composed of what the frames there say.
package outcome

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flame/core"
)

// Below are ended frames by the id of the frame directly above each. They tell
// what was done in a frame that ended without a summary.
type Below map[string][]core.Frame

// Bounds of a composed summary.
const (
	Each         = 24   // frames of one parent that are considered, the latest change first
	Levels       = 3    // levels below the frame
	Room         = 1000 // UTF-16 code units of one that stands among other texts
	Alone        = 4000 // and of one that is read by itself
	maxFull      = 5    // frames of one parent whose whole summary may be told
	maxGoal      = 80   // characters
	maxStart     = 60   // characters of the other summaries
	maxText      = 1000 // characters of any summary, or decision
	maxDecisions = 20   // of a frame; the others are counted
	minText      = 8    // UTF-16 code units that say something
)

// Compose returns a summary for a frame that ended without one, of at most room UTF-16
// code units: what the frames directly below it say, a line each, those made first
// first. Where there is not room for all, those of least weight are left out, and hinted
// at; the summaries of the weightiest are told as far as there is room, of the others
// only the beginning. Each gets an equal share of the room, and what it does not need
// goes to the others, so that a long one takes nothing from them. What was done further
// below is left to the summary of the frame above it; where that has none either, its own
// lines stand below its goal. A line names the decisions of its frame, each decision once;
// those in told are left out, and those that the text tells are added. Compose returns ""
// for other frames, or if nothing ended below. The same frames in any order give the same
// text.
func (o Below) Compose(f *core.Frame, told map[string]bool, room int) string {
	if f.Summary != "" || !f.Status.Ended() || len(o[f.ID]) == 0 {
		return ""
	}
	core.Tell(told, f.Decisions)
	return strings.TrimSuffix(o.lines(f.ID, 0, room, told), "\n")
}

// Ended returns the frames directly below frame id, the weightiest first: as many as are
// considered.
func (o Below) Ended(id string) (frames []core.Frame) {
	ranked, _ := o.ranked(id, 0, map[string]bool{})
	for _, e := range ranked {
		frames = append(frames, *e.frame)
	}
	return frames
}

// Known tells of the frames directly below frame id as Compose does, whatever summary that
// has itself, each line with the id of its frame.
func (o Below) Known(id string, told map[string]bool, room int) string {
	named := Below{}
	for parent, below := range o {
		named[parent] = slices.Clone(below)
		for i := range below {
			named[parent][i].Goal = core.OneLine(below[i].ID, 0) + " " + below[i].Goal
		}
	}
	return named.lines(id, 0, room, told)
}

// weight says how much an ended frame has to tell, of which so many beside it changed
// later. Decisions count most: others have to keep to them. Then what there is now that
// was not there before, what was said about it, what went wrong, and what it took. Each
// is bounded, so that no bulk of one kind outweighs the rest. Age counts by order: the
// same frames have the same weight at any time.
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
	decisions []string // that no other tells
	decided   []string // the first of them, a line each
	summary   string   // of it, as far as it may be told
	opens     bool     // frames below it are told in lines of their own
}

// ranked returns the frames directly below frame id, the weightiest first, and whether
// there are others. Decisions in told are left out.
func (o Below) ranked(id string, level int, told map[string]bool) (list []*outcome, more bool) {
	below := slices.Clone(o[id])
	slices.SortFunc(below, func(a, b core.Frame) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	below = slices.CompactFunc(below, func(a, b core.Frame) bool { return a.ID == b.ID })
	more = len(below) > Each
	later := 0
	for i := range below[:min(len(below), Each)] {
		f := &below[i]
		if f.UpdatedAt < below[later].UpdatedAt {
			later = i
		}
		list = append(list, &outcome{frame: f, weight: weight(f, later), head: heading(f), opens: f.Summary == "" && level+1 < Levels && len(o[f.ID]) > 0})
	}
	seen := maps.Clone(told)
	madeFirst(list)
	for _, e := range list {
		e.decisions = core.Untold(e.frame.Decisions, seen)
		core.Tell(seen, e.decisions)
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
	slices.SortFunc(list, func(a, b *outcome) int { return core.MadeBefore(a.frame, b.frame) })
}

// heading returns the goal of an ended frame, and its status unless that is the usual one.
func heading(f *core.Frame) string {
	head := core.OneLine(f.Goal, maxGoal)
	if f.Status != core.Completed {
		head += " (" + string(f.Status) + ")"
	}
	return head + f.Mark()
}

// lines tells of the frames directly below frame id, which is so many levels below the
// one that the summary is for, in at most room UTF-16 code units.
func (o Below) lines(id string, level, room int, told map[string]bool) string {
	ranked, more := o.ranked(id, level, told)
	bullet := strings.Repeat("  ", level) + "- "
	others := bullet + "…\n"
	if room -= core.Units(others); room < 0 {
		return ""
	}
	fit := 0
	for ; fit < len(ranked); fit++ {
		size := core.Units(bullet) + core.Units(ranked[fit].head) + len("\n")
		if size > room {
			more = true
			break
		}
		room -= size
	}
	shown := ranked[:fit]
	for _, e := range shown { // before what lies below them
		core.Tell(told, e.decisions)
	}
	texts := o.fill(slices.Clone(shown), level, room, told)
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

// fill shares room among the frames and returns what is told of each beside its heading.
// Those that need least are asked first, so that the others share what they leave.
func (o Below) fill(shown []*outcome, level, room int, told map[string]bool) map[*outcome]string {
	needs := make(map[*outcome]int, len(shown))
	for _, e := range shown {
		if needs[e] = core.Units(e.text(room)); e.opens {
			needs[e] = room
		}
	}
	slices.SortStableFunc(shown, func(a, b *outcome) int { return cmp.Compare(needs[a], needs[b]) })
	texts := make(map[*outcome]string, len(shown))
	for i, e := range shown {
		share := min(needs[e], room/(len(shown)-i))
		text := e.text(share)
		if e.opens {
			if inner := o.lines(e.frame.ID, level+1, share-core.Units(text)-len("\n"), told); inner != "" {
				text += "\n" + strings.TrimSuffix(inner, "\n")
			}
		}
		texts[e] = text
		room -= core.Units(text)
	}
	return texts
}

// text returns the summary and the decisions of a frame in at most room UTF-16 code units.
// Decisions come first, as nothing else can be derived from them, but leave half of the
// room to the summary.
func (e *outcome) text(room int) string {
	summary := ""
	if e.summary != "" {
		summary = ": " + e.summary
	}
	decided := e.decisionsIn(max(room/2, room-core.Units(summary)))
	room -= core.Units(decided)
	if core.Units(summary) > room {
		summary = core.Clip(summary, room)
	}
	return summary + decided
}

// decisionsIn returns the decisions of a frame in at most room UTF-16 code units: as many
// as fit whole, and the number of the others.
func (e *outcome) decisionsIn(room int) string {
	const open, end = " (decided: ", ")"
	left := room - len(open) - len(end)
	for n := len(e.decided); n > 0; n-- {
		list := strings.Join(e.decided[:n], "; ")
		if more := len(e.decisions) - n; more > 0 {
			list += fmt.Sprintf("; and %d more", more)
		}
		if core.Units(list) <= left {
			return open + list + end
		}
	}
	if len(e.decided) == 0 || left < minText {
		return ""
	}
	return open + core.Clip(e.decided[0], left) + end
}
