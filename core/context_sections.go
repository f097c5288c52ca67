package core

import (
	"cmp"
	"slices"
	"strings"
)

// A section is one part of a context.
type section struct {
	text  string
	units int      // length of text in UTF-16 code units
	shown int      // number of its items in text
	left  int      // number of items left out
	cut   []string // texts that were shortened or dropped: id and field
}

// grow rebuilds the section with free room added, if that would show more, and
// returns how much of it was used. limit is what the section was built with.
func (s *section) grow(limit, free int, make func(limit int) section) (taken int) {
	before := s.units
	if s.left+len(s.cut) > 0 && before+free > limit {
		*s = make(before + free)
	}
	return s.units - before
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

// print renders the candidate as e if it fits into what is left, and returns
// its cost.
func (c *candidate) print(e element, quota, left int) int {
	if size := e.size(quota); size > left {
		return size
	}
	c.shown = e.render(quota, left)
	return c.shown.units
}

// quota returns the room that each of n frames can count on.
func quota(limit, n int) int { return max(0, limit) / max(1, min(n, crowd)) }

// listing prints the frames taken as one list, or nothing if there are none.
// omission names the attribute that counts those left out.
func listing(indent, tag, omission string, taken []*candidate, left int) section {
	s := section{shown: len(taken), left: left}
	if len(taken) == 0 {
		return s
	}
	open := indent + "<" + tag + attr("count", len(taken)) + attr(omission, left) + ">\n"
	end := indent + "</" + tag + ">\n"
	s.units = len(open) + len(end)
	parts := []string{open}
	for _, c := range taken {
		parts = append(parts, c.shown.text)
		s.units += c.shown.units
		s.note(c.frame, c.shown)
	}
	s.text = strings.Join(append(parts, end), "")
	return s
}

// ancestorSection prints the ancestors that fit within limit. The parent is
// always included, whatever its status, and cut to fit; the others are only cut
// to their quota.
func (c *composer) ancestorSection(limit int) section {
	ranked := slices.DeleteFunc(rankAncestors(c.Ancestors, c.Now), func(a *candidate) bool {
		return a.rank > 0 && (a.frame.Status == Invalidated || a.frame.ArchivedAt != 0)
	})
	room := limit - sectionTags
	each := quota(room, len(ranked))
	taken, _ := take(ranked, room, func(a *candidate, left int) int {
		e := newElement("    ", "frame", a.frame, frameFields(a.frame, each))
		if a.rank == 0 {
			a.shown = e.render(each, left)
			return min(a.shown.units, left)
		}
		return a.print(e, each, left)
	})
	rootFirst(taken)
	return listing("  ", "ancestors", "omitted", taken, len(ranked)-len(taken))
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
	var ranked []*candidate
	found := make([]int, len(finishedParts))
	seen := c.workedIn()
	keywords := Keywords(c.Current.Goal)
	for i, part := range finishedParts {
		frames := finished(part.frames(&c.Surroundings), seen)
		found[i] = len(frames)
		some := rankSiblings(frames, keywords, DefaultMinRelevance, c.Now)
		for _, f := range some {
			f.rank = i
		}
		if len(some) > 0 {
			limit -= sectionTags
		}
		ranked = append(ranked, some...)
	}
	each := quota(limit, len(ranked))
	taken, _ := take(ranked, limit, func(f *candidate, left int) int {
		return f.print(newElement("    ", "frame", f.frame, frameFields(f.frame, each)), each, left)
	})
	recentFirst(taken)
	sections := make([]section, len(finishedParts))
	for i, part := range finishedParts {
		own := slices.DeleteFunc(slices.Clone(taken), func(f *candidate) bool { return f.rank != i })
		sections[i] = listing("  ", "completed-"+part.name, "filtered", own, found[i]-len(own))
	}
	return sections
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
// in an order independent of the input's.
func finished(frames []Frame, seen map[string]bool) (list []*Frame) {
	for i := range frames {
		if f := &frames[i]; f.Status.Ended() && f.ArchivedAt == 0 && !seen[f.ID] {
			seen[f.ID] = true
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *Frame) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// unfinishedSection offers frames that others left unfinished.
func (c *composer) unfinishedSection(limit int) section {
	var offered []*candidate
	for i := range c.Unfinished {
		if f := &c.Unfinished[i]; f.Status != Invalidated && f.ArchivedAt == 0 {
			offered = append(offered, &candidate{frame: f})
		}
	}
	room := limit - sectionTags
	each := quota(room, maxUnfinished)
	taken, _ := take(offered[:min(len(offered), maxUnfinished)], room, func(f *candidate, left int) int {
		return f.print(newElement("    ", "frame", f.frame, goalField(f.frame)), each, left)
	})
	return listing("  ", "unfinished-frames", "omitted", taken, len(offered)-len(taken))
}

// currentSection prints the current frame and its planned children, which it
// also stores in c.planned.
func (c *composer) currentSection(limit int) section {
	if c.Current.ID == "" {
		return section{}
	}
	c.planned = c.plannedSection(int(0.3 * float64(limit)))
	e := newElement("  ", "current-frame", &c.Current, currentFields(&c.Current, limit))
	e.body = rendering{text: c.planned.text, units: c.planned.units}
	r := e.render(limit, limit)
	s := section{text: r.text, units: r.units, shown: 1, left: c.planned.left}
	s.note(&c.Current, r)
	s.cut = append(s.cut, c.planned.cut...)
	return s
}

// plannedSection prints the planned children that fit within limit, in order.
func (c *composer) plannedSection(limit int) section {
	var planned []*candidate
	for i := range c.Planned {
		if f := &c.Planned[i]; f.Status == Planned && f.ArchivedAt == 0 {
			planned = append(planned, &candidate{frame: f})
		}
	}
	room := limit - len("    <planned-children count=\"1000000\" omitted=\"1000000\">\n    </planned-children>\n")
	each := quota(room, len(planned))
	taken, _ := take(planned, room, func(f *candidate, left int) int {
		return f.print(newElement("      ", "planned-task", f.frame, plannedFields(f.frame)), each, left)
	})
	return listing("    ", "planned-children", "omitted", taken, len(planned)-len(taken))
}

// suggestionSection returns as many suggestions as fit within limit, with the
// empty line that separates them from the context.
func (c *composer) suggestionSection(limit int) section {
	for n := len(c.Suggestions); n > 0; n-- {
		text := "\n\n" + FormatSuggestions(c.Suggestions[:n])
		if size := units(text); size <= limit {
			return section{text: text, units: size, shown: n, left: len(c.Suggestions) - n}
		}
	}
	return section{left: len(c.Suggestions)}
}
