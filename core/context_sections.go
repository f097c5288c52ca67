package core

import (
	"cmp"
	"slices"
	"strings"
)

// A part of a context is known by its number: parts stand in this order.
type part int

const (
	partAncestors part = iota
	partChildren       // finished frames: children, then siblings and uncles
	partSiblings
	partUncles
	partLeft       // by a root that ended
	partUnfinished // frames of ended sessions
	partCurrent    // and its planned children
	partSuggestions
	allParts
)

// finishedParts is the number of parts with finished frames.
const finishedParts = partUncles - partChildren + 1

// finishedTags are the elements around finished frames.
var finishedTags = [finishedParts]string{"completed-children", "completed-siblings", "completed-uncles"}

// A section is the text of a part.
type section struct {
	texts []string // its text, to be joined
	units int      // length of these in UTF-16 code units
	shown int      // number of its items in them
	left  int      // number of items left out
	cut   []string // texts that were shortened or dropped: id and field
	room  int      // limit when it was last printed; parts that are printed together share it
	told  []string // decisions in texts
}

// note records what was cut of a frame.
func (s *section) note(f *Frame, r xmlText) {
	for _, name := range r.cut {
		s.cut = append(s.cut, f.ID+" "+name)
	}
}

const (
	// sectionTags bounds the tags around a section's frames.
	sectionTags = len("  <completed-siblings count=\"1000000\" filtered=\"1000000\">\n  </completed-siblings>\n")
	// crowd is the number of frames beyond which each frame's quota shrinks no
	// further: five good summaries say more than fifty stumps.
	crowd = 5
	// maxUnfinished is how many unfinished frames are offered.
	maxUnfinished = 5
)

// print renders the candidate as e if that fits into what is left, and returns its cost. If
// room is scarce, it leaves out the last fields.
func (c *candidate) print(e element, quota, left int) int {
	n, size := e.fit(quota, left)
	if size > left {
		return size
	}
	for _, f := range e.fields[n:] {
		if f.text != "" {
			e.body.cut = append(e.body.cut, f.name())
		}
	}
	e.fields = e.fields[:n]
	c.shown = e.render(quota, left)
	return c.shown.units
}

// quota returns the room that each of n frames gets at least.
func quota(limit, n int) int { return max(0, limit) / max(1, min(n, crowd)) }

// tags returns the room for the tags around a section's frames.
func (c *composer) tags(tag string) int {
	if c.brief {
		return len("<>\n</>\n") + 2*len(tag)
	}
	return sectionTags
}

// listing prints the taken frames as one list, or nothing if there are none. omission names the
// attribute that counts the frames left out; a brief context has no counts.
func (c *composer) listing(indent, tag, omission string, taken []*candidate, left int) section {
	s := section{shown: len(taken), left: left}
	if len(taken) == 0 {
		return s
	}
	counts := attr("count", len(taken)) + attr(omission, left)
	if c.brief {
		counts = ""
	}
	open := c.in(indent) + "<" + tag + counts + ">\n"
	end := c.in(indent) + "</" + tag + ">\n"
	s.units = len(open) + len(end)
	s.texts = append(make([]string, 0, len(taken)+2), open)
	for _, f := range taken {
		s.texts = append(s.texts, f.shown.text)
		s.units += f.shown.units
		s.told = appendWhole(s.told, f.tells, f.shown.cut)
		s.note(f.frame, f.shown)
	}
	s.texts = append(s.texts, end)
	return s
}

// told returns the decisions that the current frame and the printed parts tell.
func (c *composer) told() map[string]bool {
	size := len(c.Current.Decisions)
	for i := range c.parts {
		size += len(c.parts[i].told)
	}
	told := make(map[string]bool, 2*size) // decisions of the part that is printed next are added
	MarkDecisionsShown(told, c.Current.Decisions)
	for i := range c.parts {
		MarkDecisionsShown(told, c.parts[i].told)
	}
	return told
}

// entry returns the element of a frame in another frame's context, with the decisions that are not
// told yet: the frame's own, and those that bind the work below it, or, for a finished frame,
// those made below it. It leaves told unchanged.
func (c *composer) entry(f *candidate, told map[string]bool, quota int) element {
	makers, finished := c.makers[f.frame.ID]
	if !finished {
		makers = []*Frame{f.frame}
	}
	var own []string
	for _, maker := range makers {
		own = AppendUnshown(own, maker.Decisions, told)
	}
	bound, tells := c.boundFields(f.frame, told, quota)
	f.tells = append(tells, shownDecisions{"decisions", own})
	for _, t := range f.tells {
		for _, decision := range t.decisions {
			delete(told, decision)
		}
	}
	c.fields = append(appendFrameFields(c.fields[:0], f.frame, own, bound, quota),
		field{tag: "facts", text: c.Facts[f.frame.ID], share: 0.3, mark: cutMark})
	e := c.element("    ", "frame", f.frame, c.fields)
	if summary := c.Composed[f.frame.ID]; finished && summary != "" && summary == f.frame.Summary {
		e.fields[1].attrs = composedAttr
	}
	return e
}

// take records that the context tells the candidate's decisions.
func (c *candidate) take(told map[string]bool) {
	MarkDecisionsShown(told, appendWhole(nil, c.tells, c.shown.cut))
}

// printAncestors prints the ancestors that fit within limit. The parent is
// always included, whatever its status, and cut to fit; the others are only cut
// to their quota.
func (c *composer) printAncestors(limit int) {
	ranked := slices.DeleteFunc(rankAncestors(c.Ancestors, c.Now), func(a *candidate) bool {
		return a.rank > 0 && (a.frame.Status == Invalidated || a.frame.ArchivedAt != 0)
	})
	room := limit - c.tags("ancestors")
	each := quota(room, len(ranked))
	told := c.told()
	taken, _ := take(ranked, room, func(a *candidate, left int) (price int) {
		if e := c.entry(a, told, each); a.rank > 0 {
			price = a.print(e, each, left)
		} else {
			e.fields[0] = firstGoal(a.frame)
			a.shown = e.render(each, left)
			price = min(a.shown.units, left)
		}
		if price <= left {
			a.take(told)
		}
		return price
	})
	rootFirst(taken)
	c.parts[partAncestors] = c.listing("  ", "ancestors", "omitted", taken, len(ranked)-len(taken))
	c.parts[partAncestors].room = limit
}

// printFinished prints the finished frames that fit within limit: the best
// children, then siblings, then uncles. Each part shows the latest first.
func (c *composer) printFinished(limit int) {
	room := limit
	for i, tag := range finishedTags {
		if slices.ContainsFunc(c.ranked, func(f *candidate) bool { return f.rank == i }) {
			room -= c.tags(tag)
		}
	}
	each := quota(room, len(c.ranked))
	told := c.told()
	taken, _ := take(c.ranked, room, func(f *candidate, left int) int {
		price := f.print(c.entry(f, told, each), each, left)
		if price <= left {
			f.take(told)
		}
		return price
	})
	recentFirst(taken)
	for i, tag := range finishedTags {
		own := slices.DeleteFunc(slices.Clone(taken), func(f *candidate) bool { return f.rank != i })
		s := &c.parts[int(partChildren)+i]
		all := len(c.finished[i])
		if s == &c.parts[partChildren] {
			all = max(all, c.Ended)
		}
		*s = c.listing("  ", tag, "filtered", own, all-len(own))
		s.room = limit
	}
}

// findFinished finds and ranks the frames that have ended and are not archived, each once. The
// order of the input does not matter. Frames without a summary get their composed summary.
func (c *composer) findFinished() {
	seen := c.workedIn()
	keywords := Keywords(c.Current.Goal)
	for i, frames := range [finishedParts][]Frame{c.Children, c.Siblings, c.Uncles} {
		list := make([]*Frame, 0, len(frames))
		for j := range frames {
			if f := &frames[j]; f.Status.Ended() && f.ArchivedAt == 0 && !seen[f.ID] {
				seen[f.ID] = true
				list = append(list, c.withSummary(f))
			}
		}
		slices.SortFunc(list, latestFirst)
		c.finished[i] = list
		for _, f := range rankSiblings(list, keywords, DefaultMinRelevance, c.Now) {
			f.rank = i
			c.ranked = append(c.ranked, f)
		}
	}
}

// withSummary returns the frame, or a copy with its composed summary if it has none of its own.
func (c *composer) withSummary(f *Frame) *Frame {
	summary := c.Composed[f.ID]
	if summary == "" || f.Summary != "" {
		return f
	}
	composed := *f
	composed.Summary = summary
	return &composed
}

// latestFirst orders frames by their last change.
func latestFirst(a, b *Frame) int {
	return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
}

// workedIn returns the frames that are not among the finished ones: the current one and its ancestors.
func (c *composer) workedIn() map[string]bool {
	ids := map[string]bool{c.Current.ID: true}
	for i := range c.Ancestors {
		ids[c.Ancestors[i].ID] = true
	}
	return ids
}

// offerUnfinished prints frames that ended sessions left unfinished.
func (c *composer) offerUnfinished(limit int) {
	var offered []*candidate
	for i := range c.Unfinished {
		if f := &c.Unfinished[i]; f.Status != Invalidated && f.ArchivedAt == 0 {
			offered = append(offered, &candidate{frame: f})
		}
	}
	room := limit - c.tags("unfinished-frames")
	each := quota(room, maxUnfinished)
	taken, _ := take(offered[:min(len(offered), maxUnfinished)], room, func(f *candidate, left int) int {
		return f.print(c.element("    ", "frame", f.frame, []field{goalField(f.frame)}), each, left)
	})
	c.parts[partUnfinished] = c.listing("  ", "unfinished-frames", "omitted", taken, len(offered)-len(taken))
}

// printLeft prints the closing text of a root that ended.
func (c *composer) printLeft(limit int) {
	f := &c.Finished.Frame
	e := c.element("  ", "finished-work", f, []field{goalField(f), {tag: "left", text: c.Finished.Text, share: 1, mark: cutMark}})
	if c.Finished.Text == "" || e.size()+2*minLine > limit {
		return
	}
	r := e.render(limit, limit)
	s := &c.parts[partLeft]
	*s = section{texts: []string{r.text}, units: r.units, shown: 1}
	s.note(f, r)
}

// printCurrent prints the current frame and its planned children.
func (c *composer) printCurrent(limit int) {
	if c.Current.ID == "" {
		return
	}
	bound, tells := c.boundFields(&c.Current, c.told(), limit)
	e := c.element("  ", "current-frame", &c.Current, currentFields(&c.Current, bound, limit))
	goal := e.size() + e.fields[0].need(e.inner, 0)
	planned := c.plannedSection(min(int(0.3*float64(limit)), limit-goal))
	e.body = xmlText{text: strings.Join(planned.texts, ""), units: planned.units}
	r := e.render(limit, limit)
	s := &c.parts[partCurrent]
	*s = section{texts: []string{r.text}, units: r.units, shown: 1, left: planned.left, room: limit, told: appendWhole(nil, tells, r.cut)}
	s.note(&c.Current, r)
	s.cut = append(s.cut, planned.cut...)
}

// plannedSection prints the planned children that fit within limit, in order.
func (c *composer) plannedSection(limit int) section {
	var planned []*candidate
	for i := range c.Planned {
		if f := &c.Planned[i]; f.Status == Planned && f.ArchivedAt == 0 {
			planned = append(planned, &candidate{frame: f})
		}
	}
	room := limit - c.tags("planned-children")
	each := quota(room, len(planned))
	taken, _ := take(planned, room, func(f *candidate, left int) int {
		return f.print(c.element("      ", "planned-task", f.frame, []field{
			{tag: "goal", text: f.frame.Goal, share: 0.7, mark: cutMark}, {tag: "success-criteria", text: f.frame.SuccessCriteria, share: 0.3, mark: cutMark},
		}), each, left)
	})
	return c.listing("    ", "planned-children", "omitted", taken, len(planned)-len(taken))
}

// suggest writes as many suggestions as fit within limit, with the
// empty line that separates them from the context.
func (c *composer) suggest(limit int) {
	n := len(c.Suggestions)
	for ; n > 0; n-- {
		text := "\n\n" + FormatSuggestions(c.Suggestions[:n])
		if size := units(text); size <= limit {
			c.parts[partSuggestions] = section{texts: []string{text}, units: size, shown: n}
			break
		}
	}
	c.parts[partSuggestions].left = len(c.Suggestions) - n
}
