package core

import (
	"cmp"
	"slices"

	"github.com/samber/lo"
)

// maxBinding is how many frames an open frame's element names for their decisions: more would
// leave no room for its own texts.
const maxBinding = 6

// originGoal is the length, in characters, of the goal of a frame that made a decision.
const originGoal = 80

// bind finds the frames whose decisions bind others. A finished frame's decision binds all work
// below the nearest ancestor that is still open. So the context tells it once, in the element of
// that ancestor and with the frame that made it, instead of beside each frame that has to follow
// it. For decisions made below the current frame, that ancestor is the current frame. If no
// ancestor is open, or its element has no room, the entry of the finished frame tells its own
// decisions and those made below it.
func (c *composer) bind() {
	c.binding, c.makers = map[string][]*Frame{}, map[string][]*Frame{}
	way := append([]*Frame{&c.Current}, lo.ToSlicePtr(c.Ancestors)...)
	seen := c.workedIn()
	for _, f := range slices.Concat(c.finished[:]...) {
		seen[f.ID] = true
	}
	for level, finished := range c.finished {
		for _, f := range finished {
			c.makers[f.ID] = c.makersIn(f, seen)
			from := level
			if level == len(c.finished)-1 { // an uncle's parent may be any ancestor
				from = slices.IndexFunc(way, func(above *Frame) bool { return above.ID == f.Parent })
			}
			if open := nearestOpen(way, from); open != nil {
				c.binding[open.ID] = append(c.binding[open.ID], c.makers[f.ID]...)
			}
		}
	}
	for id, makers := range c.binding {
		slices.SortFunc(makers, latestFirst)
		makers = makers[:min(len(makers), maxBinding)]
		slices.SortFunc(makers, CompareCreated)
		c.binding[id] = makers
	}
}

// CompareCreated orders frames by when they were made.
func CompareCreated(a, b *Frame) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// nearestOpen returns the first frame on the way up, starting at index from, whose work is not
// over; nil if there is none.
func nearestOpen(way []*Frame, from int) *Frame {
	if from < 0 {
		return nil
	}
	open, _ := lo.Find(way[min(from, len(way)):], func(f *Frame) bool { return f.ID != "" && (f.Status == InProgress || f.Status == Planned) })
	return open
}

// makersIn returns f and the frames below it, as far as they made decisions, the oldest first.
func (c *composer) makersIn(f *Frame, seen map[string]bool) []*Frame {
	list := c.appendMakers(nil, f, seen)
	slices.SortFunc(list, CompareCreated)
	return list
}

func (c *composer) appendMakers(list []*Frame, f *Frame, seen map[string]bool) []*Frame {
	if len(f.Decisions) > 0 {
		list = append(list, f)
	}
	below := c.Below[f.ID]
	for i := range below {
		if !seen[below[i].ID] {
			seen[below[i].ID] = true
			list = c.appendMakers(list, &below[i], seen)
		}
	}
	return list
}

// A shownDecisions holds the decisions that a field of an element tells.
type shownDecisions struct {
	field     string
	decisions []string
}

// boundFields returns fields for the element of an open frame: the decisions that bind the work
// below it, a field for each frame that made some. It leaves out those in told, and adds the
// others to told.
func (c *composer) boundFields(open *Frame, told map[string]bool, maxUnits int) (fields []field, tells []shownDecisions) {
	for _, maker := range c.binding[open.ID] {
		decisions := AppendUnshown(nil, maker.Decisions, told)
		if len(decisions) == 0 {
			continue
		}
		f := decisionsField(decisions, 0.3, maxUnits)
		f.tag, f.of = "decided", maker.ID
		f.attrs = ` in="` + EscapeXML(maker.ID) + `" goal="` + quoteData(OneLine(maker.Goal, originGoal)) + `"`
		fields, tells = append(fields, f), append(tells, shownDecisions{f.name(), decisions})
	}
	return fields, tells
}

// appendWhole appends the decisions of the tellings whose fields were not cut.
func appendWhole(decisions []string, tells []shownDecisions, cut []string) []string {
	for _, t := range tells {
		if !slices.Contains(cut, t.field) {
			decisions = append(decisions, t.decisions...)
		}
	}
	return decisions
}

// AppendUnshown appends the decisions that are not in told, and adds them to told.
func AppendUnshown(list, decisions []string, told map[string]bool) []string {
	for _, decision := range decisions {
		if !told[decision] {
			told[decision] = true
			list = append(list, decision)
		}
	}
	return list
}

// MarkDecisionsShown adds decisions to told.
func MarkDecisionsShown(told map[string]bool, decisions []string) {
	for _, decision := range decisions {
		told[decision] = true
	}
}
