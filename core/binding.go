package core

import (
	"cmp"
	"slices"
)

// maxBinding is how many frames are named beside one that is open for the decisions that
// they made: more would leave its own texts no room.
const maxBinding = 6

// originGoal is how much is told of the goal of a frame that made a decision, in characters.
const originGoal = 80

// bind finds the frames whose decisions bind others. What a finished frame decided binds
// the work below the nearest ancestor that is still open, whichever frame below that does
// it: so it is told there, once, with the frame that made it, and not beside each frame
// that has to keep to it. The open one may be the current frame, of what was decided below
// it, or an ancestor, of what was decided beside or in the frames between. Where none is
// open, as above a root, where it is told once already, or where it has no room, the
// entry of the finished frame tells its own decisions and those made below it.
func (c *composer) bind() {
	c.binding, c.makers = map[string][]*Frame{}, map[string][]*Frame{}
	way := []*Frame{&c.Current}
	for i := range c.Ancestors {
		way = append(way, &c.Ancestors[i])
	}
	parts := [][]Frame{c.Children, c.Siblings, c.Uncles}
	seen := c.workedIn()
	for level, part := range parts {
		for _, f := range c.finished(part, seen) {
			c.makers[f.ID] = c.makersIn(f, seen)
			from := level
			if level == len(parts)-1 { // beside which ancestor, its parent tells
				from = slices.IndexFunc(way, func(above *Frame) bool { return above.ID == f.Parent })
			}
			if open := nearestOpen(way, from); open != nil {
				c.binding[open.ID] = append(c.binding[open.ID], c.makers[f.ID]...)
			}
		}
	}
	for id, makers := range c.binding {
		slices.SortFunc(makers, func(a, b *Frame) int {
			return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
		})
		makers = makers[:min(len(makers), maxBinding)]
		slices.SortFunc(makers, MadeBefore)
		c.binding[id] = makers
	}
}

// MadeBefore orders frames by when they were made.
func MadeBefore(a, b *Frame) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// nearestOpen returns the first frame on the way up, from one of them on, whose work is
// not over; nil if there is none.
func nearestOpen(way []*Frame, from int) *Frame {
	if from < 0 {
		return nil
	}
	for _, f := range way[min(from, len(way)):] {
		if f.ID != "" && (f.Status == InProgress || f.Status == Planned) {
			return f
		}
	}
	return nil
}

// makersIn returns f, if it made decisions, and the frames below it that did, those made
// first first.
func (c *composer) makersIn(f *Frame, seen map[string]bool) (list []*Frame) {
	if len(f.Decisions) > 0 {
		list = append(list, f)
	}
	below := c.Below[f.ID]
	for i := range below {
		if !seen[below[i].ID] {
			seen[below[i].ID] = true
			list = append(list, c.makersIn(&below[i], seen)...)
		}
	}
	slices.SortFunc(list, MadeBefore)
	return list
}

// A telling is the decisions that a field of an element tells.
type telling struct {
	field     string
	decisions []string
}

// boundFields returns the fields, for the element of an open frame, of the decisions that
// bind the work below it and are not in told, one for each frame that made some. It adds
// them to told.
func (c *composer) boundFields(open *Frame, told map[string]bool, maxUnits int) (fields []field, tells []telling) {
	for _, maker := range c.binding[open.ID] {
		decisions := Untold(maker.Decisions, told)
		if len(decisions) == 0 {
			continue
		}
		Tell(told, decisions)
		f := decisionsField(decisions, 0.3, maxUnits)
		f.tag, f.of = "decided", maker.ID
		f.attrs = ` in="` + EscapeXML(maker.ID) + `" goal="` + quoteData(OneLine(maker.Goal, originGoal)) + `"`
		fields, tells = append(fields, f), append(tells, telling{f.name(), decisions})
	}
	return fields, tells
}

// whole returns the decisions of those tellings whose fields were not cut.
func whole(tells []telling, cut []string) (decisions []string) {
	for _, t := range tells {
		if !slices.Contains(cut, t.field) {
			decisions = append(decisions, t.decisions...)
		}
	}
	return decisions
}

// Untold returns the decisions that are not in told.
func Untold(decisions []string, told map[string]bool) (list []string) {
	for _, decision := range decisions {
		if !told[decision] {
			list = append(list, decision)
		}
	}
	return list
}

// untell takes decisions out of told.
func untell(told map[string]bool, decisions []string) {
	for _, decision := range decisions {
		delete(told, decision)
	}
}

// Tell adds decisions to told.
func Tell(told map[string]bool, decisions []string) {
	for _, decision := range decisions {
		told[decision] = true
	}
}
