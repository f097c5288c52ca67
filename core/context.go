package core

import (
	"fmt"
	"slices"
	"strings"
)

// A Budget divides the tokens of a context among its parts. Other parts may use
// what one leaves free; Total is the hard limit of the text.
type Budget struct {
	Total     int `json:"total"`
	Ancestors int `json:"ancestors"`
	Siblings  int `json:"siblings"` // completed children, siblings and uncles together
	Current   int `json:"current"`
	Overhead  int `json:"overhead"` // reserved for what surrounds the parts
}

// DefaultBudget returns the budget of the seeds' phase 1.2.
func DefaultBudget() Budget {
	return Budget{Total: 4000, Ancestors: 1500, Siblings: 1500, Current: 800, Overhead: 200}
}

// Surroundings holds what the context of a frame is built from. Its lists may
// be longer than what fits. BuildContext selects the finished frames and leaves
// out invalidated and archived ones, except for the parent.
type Surroundings struct {
	Current     Frame   // without an id: the session has no frame yet
	Ancestors   []Frame // parent first
	Children    []Frame
	Siblings    []Frame
	Uncles      []Frame            // siblings of ancestors
	Planned     []Frame            // children planned, in order
	Now         Millis             // newest UpdatedAt of the tree, so that the same tree gives the same text
	Below       map[string][]Frame // what ended below the finished frames, by the frame directly above
	Composed    map[string]string  // summaries of those that have none, by their ids; decisions in Below are left out
	Unfinished  []Frame            // of ended sessions, offered when one starts; the first five are shown
	Finished    Finished           // offered when a session starts, as Unfinished are
	Suggestions []Suggestion       // oldest first
}

// Finished is a root that ended, with what it leaves to those who go on; without a text
// there is none.
type Finished struct {
	Frame Frame
	Text  string
}

// A Context is the text that tells an agent where its frame stands.
type Context struct {
	Text string
	Meta ContextMeta
}

// ContextMeta says how a context was built (spec: context §8).
type ContextMeta struct {
	TotalTokens        int      `json:"totalTokens"` // of the text
	AncestorTokens     int      `json:"ancestorTokens"`
	SiblingTokens      int      `json:"siblingTokens"` // of completed children, siblings and uncles
	CurrentTokens      int      `json:"currentTokens"`
	Characters         int      `json:"characters"` // of the text, in UTF-16 code units
	AncestorCount      int      `json:"ancestorCount"`
	AncestorsTruncated int      `json:"ancestorsTruncated"` // left out
	ChildCount         int      `json:"childCount"`
	ChildrenFiltered   int      `json:"childrenFiltered"` // left out: irrelevant, or no room
	SiblingCount       int      `json:"siblingCount"`
	SiblingsFiltered   int      `json:"siblingsFiltered"`
	UncleCount         int      `json:"uncleCount"`
	UnclesFiltered     int      `json:"unclesFiltered"`
	PlannedOmitted     int      `json:"plannedOmitted"`
	UnfinishedOmitted  int      `json:"unfinishedOmitted"`
	SuggestionsOmitted int      `json:"suggestionsOmitted"`
	Cut                []string `json:"cut,omitempty"` // texts that were shortened or dropped: id and field
	WasTruncated       bool     `json:"wasTruncated"`  // something was left out or cut
	CacheHit           bool     `json:"cacheHit"`      // set by the cache of contexts
}

// BuildContext assembles the context of s.Current within b.Total tokens and,
// unless maxChars is 0, within that many characters (UTF-16 code units). It is
// a pure function: the same tree gives the same bytes. The text is empty if not
// even ids fit, or if there is nothing to say.
func BuildContext(s Surroundings, b Budget, maxChars int) Context {
	if s.Current.ID == "" && len(s.Unfinished) == 0 && s.Finished.Text == "" {
		return Context{}
	}
	limit := unitsPerToken * max(0, b.Total)
	if maxChars > 0 {
		limit = min(limit, maxChars)
	}
	c := composer{Surroundings: s, budget: b, limit: limit}
	c.bind()
	c.composeSummaries()
	if !c.compose() {
		return c.goalsAlone()
	}
	text := c.text()
	characters := units(text)
	if characters > limit {
		return c.goalsAlone()
	}
	return Context{Text: text, Meta: c.meta(characters)}
}

// A composer fits the parts of one context into its limit. Its amounts are in
// UTF-16 code units.
type composer struct {
	Surroundings
	budget Budget
	limit  int
	brief  bool // no room for metadata and indents
	frame  int  // units of what surrounds the parts, but for what tells of truncation; 0 until asked for

	composed map[string]*Frame   // finished frames with composed summaries, by their ids
	makers   map[string][]*Frame // of each finished frame, those that decided something: itself, and others below it
	binding  map[string][]*Frame // of each open frame, those whose decisions bind the work below it

	ranked [][]*candidate // finished frames by their part, the best first; nil until asked for
	found  []int          // how many there are of each part
	fields []field        // of the element at hand

	current, ancestors, unfinished, left section
	completed                            []section // in the order of finishedParts
	completedRoom                        int       // what they were built with
	planned                              section   // within current
	suggestions                          section
}

// compose divides the room: first for the goals of the current frame and its
// parent, then for the rest of these, the other ancestors, unfinished work and
// finished work. Parts that were cut share what is left. It reports whether the
// goals have room.
func (c *composer) compose() bool {
	around := c.around()
	goal, parent, legible := c.goals(c.limit - around)
	if !legible {
		return false
	}
	c.suggestions = c.suggestionSection(min(c.limit/8, c.limit-around-goal-parent))
	own, above, beside := unitsFor(c.budget.Current), unitsFor(c.budget.Ancestors), unitsFor(c.budget.Siblings)
	rest := max(0, min(c.limit-around-c.suggestions.units, max(own+above+beside, goal+parent)))
	most := around + c.suggestions.units + rest

	own = max(goal, min(own, rest/2, rest-parent))
	c.current = c.currentSection(own)
	rest -= c.current.units
	if above+beside > rest {
		above = int(float64(above) / float64(above+beside) * float64(rest))
	}
	c.ancestors = c.ancestorSection(max(above, parent))
	rest -= c.ancestors.units
	c.unfinished = c.unfinishedSection(rest / 2)
	c.left = c.leftSection(rest - c.unfinished.units)
	c.completed = c.completedSections(rest - c.unfinished.units - c.left.units)
	c.fill(most)
	return true
}

// around returns the room for what surrounds the parts. Where that would take half
// of the limit, the context is a brief one.
func (c *composer) around() int {
	around := units(c.metadata("")) + maxTruncation
	if around <= c.limit/2 {
		return max(around, min(unitsPerToken*c.budget.Overhead, c.limit/4))
	}
	c.brief = true
	return units(c.metadata(truncatedAttr)) + len(contextEnd)
}

// fill lets the parts that lack something use what they leave free together, up to most.
func (c *composer) fill(most int) {
	for _, rebuild := range []func(free int){
		func(free int) { c.current.grow(free, c.currentSection) },
		func(free int) { c.ancestors.grow(free, c.ancestorSection) },
		c.growCompleted,
	} {
		kept, free := *c, most-c.units()
		if free < max(minLine, c.limit/16) {
			return // not worth the work
		}
		if rebuild(free); c.units() > most {
			*c = kept // what it says of cuts takes more than was gained
		}
	}
}

// growCompleted is section.grow for the finished frames.
func (c *composer) growCompleted(free int) {
	lacks := false
	for _, part := range c.completed {
		free += part.units
		lacks = lacks || part.lacks()
	}
	if lacks && free > c.completedRoom {
		c.completed = c.completedSections(free)
	}
}

// unitsFor converts a part's tokens to code units.
func unitsFor(tokens int) int { return unitsPerToken * max(0, tokens) }

// legibleGoal is how much of a goal has to be printed in its frame's element; with
// less room than that, goals stand alone.
const legibleGoal = 40

// goals divides room between the current frame and its parent, each with its goal
// alone: one that needs more than half gets what the other leaves. legible is false if
// the goals could not be read then.
func (c *composer) goals(room int) (goal, parent int, legible bool) {
	needs := func(f *Frame, indent, tag string, tags int) (all, least int) {
		e := c.element(indent, tag, f, nil)
		field := firstGoal(f)
		tags += e.size()
		all = tags + field.need(e.inner, 0)
		field.text = head(field.text, legibleGoal, xmlWidth)
		return all, tags + field.need(e.inner, 0)
	}
	leastGoal, leastParent := 0, 0
	if c.Current.ID != "" {
		goal, leastGoal = needs(&c.Current, "  ", "current-frame", len("\n"))
	}
	if len(c.Ancestors) > 0 {
		parent, leastParent = needs(&c.Ancestors[0], "    ", "frame", c.tags("ancestors")+len("\n"))
	}
	if goal+parent > room {
		goal = min(goal, max(room/2, room-parent, leastGoal))
		parent = room - goal
	}
	return goal, parent, goal >= leastGoal && parent >= leastParent
}

const contextEnd = "</flame-context>"

// goalsAlone is the context where nothing else has room: the goals of the parent and
// the current frame.
func (c *composer) goalsAlone() Context {
	const open = "<flame-context" + truncatedAttr + ">\n"
	goals := []field{{tag: "goal", text: c.Current.Goal}}
	if len(c.Ancestors) > 0 {
		goals = append([]field{{tag: "parent-goal", text: c.Ancestors[0].Goal}}, goals...)
	}
	room := c.limit - len(open) - len(contextEnd)
	for _, f := range goals {
		room -= f.tagUnits("")
	}
	if c.Current.ID == "" || room < minField*len(goals) {
		return Context{Meta: ContextMeta{WasTruncated: true, Cut: []string{"everything: the limit leaves no room"}}}
	}
	var b strings.Builder
	b.WriteString(open)
	for i, f := range goals {
		part := room / (len(goals) - i)
		if i+1 < len(goals) {
			part = max(part, room-xmlUnits(goals[i+1].text, room))
		}
		f.text = head(f.text, part, xmlWidth)
		room -= xmlUnits(f.text, part)
		f.print(&b, "", c.limit)
	}
	b.WriteString(contextEnd)
	characters := units(b.String())
	return Context{b.String(), ContextMeta{
		TotalTokens: tokensOf(characters), Characters: characters,
		WasTruncated: true, Cut: []string{"everything but goals: the limit leaves no room for more"},
	}}
}

// in returns the indent of an element; there is none in a brief context.
func (c *composer) in(indent string) string {
	if c.brief {
		return ""
	}
	return indent
}

// element returns the element of a frame.
func (c *composer) element(indent, tag string, f *Frame, fields []field) element {
	e := newElement(indent, tag, f, fields)
	e.indent, e.inner = c.in(e.indent), c.in(e.inner)
	return e
}

// shown yields the parts that are not empty, in their order.
func (c *composer) shown(yield func(*section) bool) {
	next := func(part *section) bool { return len(part.texts) == 0 || yield(part) }
	if !next(&c.ancestors) {
		return
	}
	for i := range c.completed {
		if !next(&c.completed[i]) {
			return
		}
	}
	_ = next(&c.left) && next(&c.unfinished) && next(&c.current)
}

// text joins the parts.
func (c *composer) text() string {
	texts := make([]string, 0, 64)
	texts = append(texts, c.metadata(c.truncation()))
	for part := range c.shown {
		texts = append(append(texts, c.in("\n")), part.texts...)
	}
	return strings.Join(append(append(texts, contextEnd), c.suggestions.texts...), "")
}

// units returns the length of text in UTF-16 code units.
func (c *composer) units() int {
	if c.frame == 0 {
		c.frame = units(c.metadata("")) + len(contextEnd)
	}
	size := c.frame + units(c.truncation()) + c.suggestions.units
	for part := range c.shown {
		size += len(c.in("\n")) + part.units
	}
	return size
}

// metadata returns the opening of the text, which is longer by truncation than without.
func (c *composer) metadata(truncation string) string {
	if c.brief {
		return "<flame-context" + truncation + ">\n"
	}
	return fmt.Sprintf(`<flame-context session="%s">
  <metadata>
    <budget total="%d" ancestors="%d" siblings="%d" current="%d" />
%s  </metadata>
`, EscapeXML(c.Current.ID), c.budget.Total, c.budget.Ancestors, c.budget.Siblings, c.budget.Current, truncation)
}

// maxTruncation bounds the truncation element (seven counts of ten digits and
// the list of cut texts) and the empty line before each part.
const maxTruncation = 440

// truncation lists what was left out and cut; it is empty if nothing was.
func (c *composer) truncation() string {
	attrs := attr("ancestors-omitted", c.ancestors.left)
	for i, part := range finishedParts {
		attrs += attr(part.name+"-filtered", c.completed[i].left)
	}
	attrs += attr("planned-omitted", c.planned.left) + attr("unfinished-omitted", c.unfinished.left) +
		attr("suggestions-omitted", c.suggestions.left)
	if list := cutList(c.cut()); list != "" {
		attrs += ` cut="` + list + `"`
	}
	switch {
	case attrs == "":
		return ""
	case c.brief:
		return truncatedAttr
	}
	return "    <truncation" + attrs + " />\n"
}

// cut lists the texts that were shortened or dropped.
func (c *composer) cut() []string {
	cut := slices.Concat(c.current.cut, c.ancestors.cut)
	for _, part := range c.completed {
		cut = append(cut, part.cut...)
	}
	return slices.Concat(cut, c.left.cut, c.unfinished.cut)
}

func (c *composer) meta(characters int) ContextMeta {
	m := ContextMeta{
		TotalTokens: tokensOf(characters), Characters: characters,
		AncestorTokens: tokensOf(c.ancestors.units), CurrentTokens: tokensOf(c.current.units),
		AncestorCount: c.ancestors.shown, AncestorsTruncated: c.ancestors.left,
		ChildCount: c.completed[0].shown, ChildrenFiltered: c.completed[0].left,
		SiblingCount: c.completed[1].shown, SiblingsFiltered: c.completed[1].left,
		UncleCount: c.completed[2].shown, UnclesFiltered: c.completed[2].left,
		PlannedOmitted: c.planned.left, UnfinishedOmitted: c.unfinished.left, SuggestionsOmitted: c.suggestions.left,
		Cut: c.cut(), WasTruncated: c.truncation() != "",
	}
	for _, part := range c.completed {
		m.SiblingTokens += tokensOf(part.units)
	}
	return m
}
