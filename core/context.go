package core

import (
	"fmt"
	"slices"
	"strings"
)

// A Budget divides the tokens of a context among its parts. Parts may use the
// room that others leave free; Total is the hard limit of the text.
type Budget struct {
	Total     int `json:"total"`
	Ancestors int `json:"ancestors"`
	Siblings  int `json:"siblings"` // completed children, siblings and uncles together
	Current   int `json:"current"`
	Overhead  int `json:"overhead"` // for the tags and metadata around the parts
}

// DefaultBudget returns the budget of the first description.
func DefaultBudget() Budget {
	return Budget{Total: 4000, Ancestors: 1500, Siblings: 1500, Current: 800, Overhead: 200}
}

// ContextInput holds the input for the context of a frame. Its lists may be
// longer than what fits. BuildContext selects the finished frames and leaves
// out invalidated and archived ones, except for the parent.
type ContextInput struct {
	Current     Frame   // without an id: the session has no frame yet
	Ancestors   []Frame // parent first
	Children    []Frame
	Siblings    []Frame
	Uncles      []Frame            // siblings of ancestors
	Ended       int                // children that have ended, if Children lacks some of them
	Planned     []Frame            // children planned, in order
	Now         Millis             // newest UpdatedAt of the tree, so that the same tree gives the same text
	Below       map[string][]Frame // frames that ended below the finished ones, by parent id
	Facts       map[string]string  // of the work in finished frames, by id
	Composed    map[string]string  // summaries for finished frames that have none, by id, without the decisions in Below
	Unfinished  []Frame            // of ended sessions, offered to a new session; the first five are shown
	Finished    EndedRoot          // offered to a new session too
	Suggestions []Suggestion       // oldest first
}

// EndedRoot is a root that ended, with a text for the agent that continues its work. An empty Text
// means that there is no such root.
type EndedRoot struct {
	Frame Frame
	Text  string
}

// A Context is the text that tells an agent where its frame stands.
type Context struct {
	Text string
	Meta ContextMeta
}

// ContextMeta says how a context was built.
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

// BuildContext builds the context of s.Current within b.Total tokens and, unless
// maxChars is 0, within that many characters (UTF-16 code units). It is a pure
// function: the same tree gives the same bytes. The text is empty if not even
// ids fit, or if there is nothing to say.
func BuildContext(s ContextInput, b Budget, maxChars int) Context {
	if s.Current.ID == "" && len(s.Unfinished) == 0 && s.Finished.Text == "" {
		return Context{}
	}
	limit := unitsPerToken * max(0, b.Total)
	if maxChars > 0 {
		limit = min(limit, maxChars)
	}
	c := composer{ContextInput: s, budget: b, limit: limit}
	c.findFinished()
	c.bind()
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
	ContextInput
	budget Budget
	limit  int
	brief  bool // no room for metadata and indents
	frame  int  // units around the parts without the truncation element; 0 until first needed

	finished [finishedParts][]*Frame // those that have ended, for each of their parts
	ranked   []*candidate            // the relevant ones of them: part by part, the best first
	makers   map[string][]*Frame     // for each finished frame, the frames that decided something: itself, and frames below it
	binding  map[string][]*Frame     // for each open frame, the frames whose decisions bind the work below it

	parts  [allParts]section // by their numbers
	fields []field           // of the element at hand; the slice is reused
}

// compose divides the room: first to the goals of the current frame and its
// parent, then to the rest of these, the other ancestors, unfinished work and
// finished work. Parts that lack something then get the free room. It reports
// whether the goals have room.
func (c *composer) compose() bool {
	around := c.around()
	goal, parent, legible := c.goals(c.limit - around)
	if !legible {
		return false
	}
	c.suggest(min(c.limit/8, c.limit-around-goal-parent))
	suggestions := c.parts[partSuggestions].units
	own, above, beside := unitsFor(c.budget.Current), unitsFor(c.budget.Ancestors), unitsFor(c.budget.Siblings)
	rest := max(0, min(c.limit-around-suggestions, max(own+above+beside, goal+parent)))
	most := around + suggestions + rest

	own = max(goal, min(own, rest/2, rest-parent))
	c.printCurrent(own)
	rest -= c.parts[partCurrent].units
	if above+beside > rest {
		above = int(float64(above) / float64(above+beside) * float64(rest))
	}
	c.printAncestors(max(above, parent))
	rest -= c.parts[partAncestors].units
	c.offerUnfinished(rest / 2)
	rest -= c.parts[partUnfinished].units
	c.printLeft(rest)
	c.printFinished(rest - c.parts[partLeft].units)
	c.fill(most)
	return true
}

// around returns the room for tags and metadata around the parts. If these would take more than
// half of the limit, it makes the context a brief one.
func (c *composer) around() int {
	around := units(c.metadata("")) + maxTruncation
	if around <= c.limit/2 {
		return max(around, min(unitsPerToken*c.budget.Overhead, c.limit/4))
	}
	c.brief = true
	return units(c.metadata(truncatedAttr)) + len(contextEnd)
}

// fill prints the parts that lack something again, with the room that all parts leave free, up to
// most. Parts that share their room are printed together.
func (c *composer) fill(most int) {
	for _, again := range []struct {
		first, last part
		print       func(room int)
	}{
		{partCurrent, partCurrent, c.printCurrent},
		{partAncestors, partAncestors, c.printAncestors},
		{partChildren, partUncles, c.printFinished},
	} {
		kept, free := *c, most-c.units()
		if free < max(minLine, c.limit/16) {
			return // not worth the work
		}
		parts := c.parts[again.first : again.last+1]
		lacks, room := false, free
		for _, p := range parts {
			lacks, room = lacks || p.left+len(p.cut) > 0, room+p.units
		}
		if !lacks || room <= parts[0].room {
			continue
		}
		clear(parts) // their decisions may be told again
		if again.print(room); c.units() > most {
			*c = kept // the list of what was cut takes more room than was gained
		}
	}
}

// unitsFor converts a part's tokens to code units.
func unitsFor(tokens int) int { return unitsPerToken * max(0, tokens) }

// legibleGoal is the least part of a goal, in UTF-16 code units, that its frame's element must
// show; with less room the context has only goals.
const legibleGoal = 40

// goals divides room between the current frame and its parent, each with only its goal: a goal
// that needs more than half gets what the other leaves. legible is false if a goal would get too
// little room.
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

// goalsAlone returns a context with only the goals of the parent and the current frame, for a limit
// without room for more.
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

// in returns the indent of an element; a brief context has no indents.
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

// text joins the parts.
func (c *composer) text() string {
	texts := make([]string, 0, 64)
	texts = append(texts, c.metadata(c.truncation()))
	for i := range c.parts[:partSuggestions] {
		if p := &c.parts[i]; len(p.texts) > 0 {
			texts = append(append(texts, c.in("\n")), p.texts...)
		}
	}
	return strings.Join(append(append(texts, contextEnd), c.parts[partSuggestions].texts...), "")
}

// units returns the length of text in UTF-16 code units.
func (c *composer) units() int {
	if c.frame == 0 {
		c.frame = units(c.metadata("")) + len(contextEnd)
	}
	size := c.frame + units(c.truncation()) + c.parts[partSuggestions].units
	for i := range c.parts[:partSuggestions] {
		if p := &c.parts[i]; len(p.texts) > 0 {
			size += len(c.in("\n")) + p.units
		}
	}
	return size
}

// metadata returns the opening of the text, with the truncation element.
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

// truncation returns the element that lists omissions and cuts; "" if there are none.
func (c *composer) truncation() string {
	attrs := ""
	for _, omission := range omissions {
		attrs += attr(omission.attr, c.parts[omission.of].left)
	}
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

// omissions name the counts of what the parts left out, in the order in which they are written.
var omissions = []struct {
	of   part
	attr string
}{
	{partAncestors, "ancestors-omitted"}, {partChildren, "children-filtered"}, {partSiblings, "siblings-filtered"}, {partUncles, "uncles-filtered"},
	{partCurrent, "planned-omitted"}, {partUnfinished, "unfinished-omitted"}, {partSuggestions, "suggestions-omitted"},
}

// cut lists the texts that were shortened or dropped, those of the current frame first.
func (c *composer) cut() []string {
	cut := slices.Clone(c.parts[partCurrent].cut)
	for i := range c.parts[:partCurrent] {
		cut = append(cut, c.parts[i].cut...)
	}
	return cut
}

func (c *composer) meta(characters int) ContextMeta {
	p := &c.parts
	return ContextMeta{
		TotalTokens: tokensOf(characters), Characters: characters,
		AncestorTokens: tokensOf(p[partAncestors].units), CurrentTokens: tokensOf(p[partCurrent].units),
		SiblingTokens: tokensOf(p[partChildren].units) + tokensOf(p[partSiblings].units) + tokensOf(p[partUncles].units),
		AncestorCount: p[partAncestors].shown, AncestorsTruncated: p[partAncestors].left,
		ChildCount: p[partChildren].shown, ChildrenFiltered: p[partChildren].left,
		SiblingCount: p[partSiblings].shown, SiblingsFiltered: p[partSiblings].left,
		UncleCount: p[partUncles].shown, UnclesFiltered: p[partUncles].left,
		PlannedOmitted: p[partCurrent].left, UnfinishedOmitted: p[partUnfinished].left, SuggestionsOmitted: p[partSuggestions].left,
		Cut: c.cut(), WasTruncated: c.truncation() != "",
	}
}
