package core

import (
	"cmp"
	"slices"
	"strings"
)

// A section is one part of a context.
type section struct {
	texts []string // its text, to be joined
	units int      // length of these in UTF-16 code units
	shown int      // number of its items in them
	left  int      // number of items left out
	cut   []string // texts that were shortened or dropped: id and field
	room  int      // what it was built with
	told  []string // decisions in texts
}

// lacks reports whether something was left out or cut.
func (s *section) lacks() bool { return s.left+len(s.cut) > 0 }

// grow rebuilds a section that lacks something with free room added.
func (s *section) grow(free int, make func(limit int) section) {
	if s.lacks() && s.units+free > s.room {
		*s = make(s.units + free)
	}
}

// note records what was cut of a frame.
func (s *section) note(f *Frame, r rendering) {
	for _, name := range r.cut {
		s.cut = append(s.cut, f.ID+" "+name)
	}
}

const (
	// sectionTags bounds the tags around a section's frames.
	sectionTags = len("  <completed-siblings count=\"1000000\" filtered=\"1000000\">\n  </completed-siblings>\n")
	// crowd is the number of frames in a part beyond which each one's quota
	// shrinks no further: five good summaries say more than fifty stumps.
	crowd = 5
	// maxUnfinished is how many unfinished frames are offered (DESIGN §4).
	maxUnfinished = 5
)

// print renders the candidate as e, without the last of its fields where room is
// scarce, if that fits into what is left, and returns its cost.
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

// quota returns the room that each of n frames can count on.
func quota(limit, n int) int { return max(0, limit) / max(1, min(n, crowd)) }

// tags returns the room for the tags around a section's frames.
func (c *composer) tags(tag string) int {
	if c.brief {
		return len("<>\n</>\n") + 2*len(tag)
	}
	return sectionTags
}

// listing prints the frames taken as one list, or nothing if there are none.
// omission names the attribute that counts those left out; a brief context has no counts.
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
		s.told = append(s.told, whole(f.tells, f.shown.cut)...)
		s.note(f.frame, f.shown)
	}
	s.texts = append(s.texts, end)
	return s
}

// told returns the decisions that the current frame and these sections tell.
func (c *composer) told(sections ...section) map[string]bool {
	size := len(c.Current.Decisions) + len(c.current.told)
	for i := range sections {
		size += len(sections[i].told)
	}
	told := make(map[string]bool, 2*size) // those of what is printed next are added
	Tell(told, c.Current.Decisions)
	Tell(told, c.current.told)
	for i := range sections {
		Tell(told, sections[i].told)
	}
	return told
}

// entry returns the element of a frame in another one's context, with those decisions
// that are not told yet: of an open frame its own and those that bind the work below it,
// of a finished one its own and those that were made below it. told is as before when it
// returns.
func (c *composer) entry(f *candidate, told map[string]bool, quota int) element {
	var own []string
	if makers, finished := c.makers[f.frame.ID]; finished {
		for _, maker := range makers {
			own = append(own, Untold(maker.Decisions, told)...)
			Tell(told, own)
		}
	} else {
		own = Untold(f.frame.Decisions, told)
		Tell(told, own)
	}
	bound, tells := c.boundFields(f.frame, told, quota)
	f.tells = append(tells, telling{"decisions", own})
	for _, t := range f.tells {
		untell(told, t.decisions)
	}
	c.fields = appendFrameFields(c.fields[:0], f.frame, own, bound, quota)
	e := c.element("    ", "frame", f.frame, c.fields)
	if c.composed[f.frame.ID] != nil {
		e.fields[1].attrs = composedAttr
	}
	return e
}

// take records that the candidate is in the context, and so its decisions are told.
func (c *candidate) take(told map[string]bool) {
	Tell(told, whole(c.tells, c.shown.cut))
}

// ancestorSection prints the ancestors that fit within limit. The parent is
// always included, whatever its status, and cut to fit; the others are only cut
// to their quota.
func (c *composer) ancestorSection(limit int) section {
	ranked := slices.DeleteFunc(rankAncestors(c.Ancestors, c.Now), func(a *candidate) bool {
		return a.rank > 0 && (a.frame.Status == Invalidated || a.frame.ArchivedAt != 0)
	})
	room := limit - c.tags("ancestors")
	each := quota(room, len(ranked))
	told := c.told(c.completed...)
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
	s := c.listing("  ", "ancestors", "omitted", taken, len(ranked)-len(taken))
	s.room = limit
	return s
}

// finishedParts are the kinds of finished frames, in the order in which they
// are tried and shown (DESIGN §5).
var finishedParts = []struct {
	name   string
	frames func(*Surroundings) []Frame
}{
	{"children", func(s *Surroundings) []Frame { return s.Children }},
	{"siblings", func(s *Surroundings) []Frame { return s.Siblings }},
	{"uncles", func(s *Surroundings) []Frame { return s.Uncles }},
}

// completedSections prints the finished frames that fit within limit: the best
// children, then siblings, then uncles. Each section shows the latest first.
func (c *composer) completedSections(limit int) []section {
	c.completedRoom = limit
	c.rankFinished()
	ranked := slices.Concat(c.ranked...)
	for i, part := range finishedParts {
		if len(c.ranked[i]) > 0 {
			limit -= c.tags("completed-" + part.name)
		}
	}
	each := quota(limit, len(ranked))
	told := c.told(c.ancestors)
	taken, _ := take(ranked, limit, func(f *candidate, left int) int {
		price := f.print(c.entry(f, told, each), each, left)
		if price <= left {
			f.take(told)
		}
		return price
	})
	recentFirst(taken)
	sections := make([]section, len(finishedParts))
	for i, part := range finishedParts {
		own := slices.DeleteFunc(slices.Clone(taken), func(f *candidate) bool { return f.rank != i })
		sections[i] = c.listing("  ", "completed-"+part.name, "filtered", own, c.found[i]-len(own))
	}
	return sections
}

// rankFinished ranks the finished frames, once for all the room that they are tried in.
func (c *composer) rankFinished() {
	if c.ranked != nil {
		return
	}
	seen := c.workedIn()
	keywords := Keywords(c.Current.Goal)
	for i, part := range finishedParts {
		frames := c.finished(part.frames(&c.Surroundings), seen)
		ranked := rankSiblings(frames, keywords, DefaultMinRelevance, c.Now)
		for _, f := range ranked {
			f.rank = i
		}
		c.found, c.ranked = append(c.found, len(frames)), append(c.ranked, ranked)
	}
}

// workedIn returns the frames that appear elsewhere in the context.
func (c *composer) workedIn() map[string]bool {
	ids := map[string]bool{c.Current.ID: true}
	for i := range c.Ancestors {
		ids[c.Ancestors[i].ID] = true
	}
	return ids
}

// finished returns the frames that have ended and are not archived, each once,
// in an order independent of the input's. Those without a summary have a composed one,
// if there is one.
func (c *composer) finished(frames []Frame, seen map[string]bool) (list []*Frame) {
	for i := range frames {
		if f := &frames[i]; f.Status.Ended() && f.ArchivedAt == 0 && !seen[f.ID] {
			seen[f.ID] = true
			if list == nil {
				list = make([]*Frame, 0, len(frames)-i)
			}
			list = append(list, cmp.Or(c.composed[f.ID], f))
		}
	}
	slices.SortFunc(list, func(a, b *Frame) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// composeSummaries gives the finished frames that have no summary the composed ones.
func (c *composer) composeSummaries() {
	c.composed = map[string]*Frame{}
	seen := map[string]bool{}
	for _, part := range finishedParts {
		for _, f := range c.finished(part.frames(&c.Surroundings), seen) {
			if summary := c.Composed[f.ID]; summary != "" && f.Summary == "" {
				composed := *f
				composed.Summary = summary
				c.composed[f.ID] = &composed
			}
		}
	}
}

// unfinishedSection offers frames that others left unfinished.
func (c *composer) unfinishedSection(limit int) section {
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
	return c.listing("  ", "unfinished-frames", "omitted", taken, len(offered)-len(taken))
}

// leftSection prints what a root that ended leaves.
func (c *composer) leftSection(limit int) section {
	f := &c.Finished.Frame
	if c.Finished.Text == "" {
		return section{}
	}
	e := c.element("  ", "finished-work", f, []field{goalField(f), {tag: "left", text: c.Finished.Text, share: 1, mark: cutMark}})
	if e.size()+2*minLine > limit {
		return section{}
	}
	r := e.render(limit, limit)
	s := section{texts: []string{r.text}, units: r.units, shown: 1}
	s.note(f, r)
	return s
}

// currentSection prints the current frame and its planned children, which it
// also stores in c.planned.
func (c *composer) currentSection(limit int) section {
	if c.Current.ID == "" {
		return section{}
	}
	bound, tells := c.boundFields(&c.Current, c.toldElsewhere(), limit)
	e := c.element("  ", "current-frame", &c.Current, currentFields(&c.Current, bound, limit))
	goal := e.size() + e.fields[0].need(e.inner, 0)
	c.planned = c.plannedSection(min(int(0.3*float64(limit)), limit-goal))
	e.body = rendering{text: strings.Join(c.planned.texts, ""), units: c.planned.units}
	r := e.render(limit, limit)
	s := section{texts: []string{r.text}, units: r.units, shown: 1, left: c.planned.left, room: limit}
	s.note(&c.Current, r)
	s.told = whole(tells, r.cut)
	s.cut = append(s.cut, c.planned.cut...)
	return s
}

// toldElsewhere returns the decisions that the current frame need not tell of others.
func (c *composer) toldElsewhere() map[string]bool {
	c.current = section{}
	return c.told(append(slices.Clone(c.completed), c.ancestors)...)
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
		return f.print(c.element("      ", "planned-task", f.frame, plannedFields(f.frame)), each, left)
	})
	return c.listing("    ", "planned-children", "omitted", taken, len(planned)-len(taken))
}

// suggestionSection returns as many suggestions as fit within limit, with the
// empty line that separates them from the context.
func (c *composer) suggestionSection(limit int) section {
	for n := len(c.Suggestions); n > 0; n-- {
		text := "\n\n" + FormatSuggestions(c.Suggestions[:n])
		if size := units(text); size <= limit {
			return section{texts: []string{text}, units: size, shown: n, left: len(c.Suggestions) - n}
		}
	}
	return section{left: len(c.Suggestions)}
}
