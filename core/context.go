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
	Uncles      []Frame      // siblings of ancestors
	Planned     []Frame      // children planned, in order
	Now         Millis       // newest UpdatedAt of the tree, so that the same tree gives the same text
	Unfinished  []Frame      // of ended sessions, offered when one starts; the first five are shown
	Suggestions []Suggestion // oldest first
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
	if s.Current.ID == "" && len(s.Unfinished) == 0 {
		return Context{}
	}
	limit := unitsPerToken * max(0, b.Total)
	if maxChars > 0 {
		limit = min(limit, maxChars)
	}
	c := composer{Surroundings: s, budget: b, limit: limit}
	c.compose()
	text := c.text()
	characters := units(text)
	if characters > limit {
		return Context{Meta: ContextMeta{WasTruncated: true, Cut: []string{"everything: the limit leaves no room for ids"}}}
	}
	return Context{Text: text, Meta: c.meta(characters)}
}

// A composer fits the parts of one context into its limit. Its amounts are in
// UTF-16 code units.
type composer struct {
	Surroundings
	budget Budget
	limit  int

	current, ancestors, unfinished section
	completed                      []section // in the order of finishedParts
	planned                        section   // within current
	suggestions                    section
}

// compose divides the room: first for the current frame and its parent, then
// the other ancestors, unfinished work and finished work. Parts that were cut
// share what is left.
func (c *composer) compose() {
	c.suggestions = c.suggestionSection(c.limit / 8)
	around := max(units(c.metadata(strings.Repeat(" ", maxTruncation))), unitsPerToken*c.budget.Overhead)
	own, above, beside := unitsFor(c.budget.Current), unitsFor(c.budget.Ancestors), unitsFor(c.budget.Siblings)
	rest := max(0, min(c.limit-around-c.suggestions.units, own+above+beside))

	parent := c.parentNeed(rest)
	own = min(own, rest/2, rest-parent)
	c.current = c.currentSection(own)
	rest -= c.current.units
	if above+beside > rest {
		above = int(float64(above) / float64(above+beside) * float64(rest))
	}
	above = max(above, parent)
	c.ancestors = c.ancestorSection(above)
	rest -= c.ancestors.units
	c.unfinished = c.unfinishedSection(rest / 2)
	rest -= c.unfinished.units
	c.completed = c.completedSections(rest)
	for _, part := range c.completed {
		rest -= part.units
	}
	rest -= c.current.grow(own, rest, c.currentSection)
	c.ancestors.grow(above, rest, c.ancestorSection)
}

// unitsFor converts a part's tokens to code units.
func unitsFor(tokens int) int { return unitsPerToken * max(0, tokens) }

// parentNeed returns the room that the parent takes with its goal alone: at
// most half of what is available, unless its id takes more.
func (c *composer) parentNeed(rest int) int {
	if len(c.Ancestors) == 0 {
		return 0
	}
	e := newElement("    ", "frame", &c.Ancestors[0], goalField(&c.Ancestors[0]))
	return min(rest, sectionTags+e.render(rest, rest/2-sectionTags).units)
}

// text joins the parts.
func (c *composer) text() string {
	texts := []string{c.metadata(c.truncation())}
	for _, part := range slices.Concat([]section{c.ancestors}, c.completed, []section{c.unfinished, c.current}) {
		if part.text != "" {
			texts = append(texts, "\n", part.text)
		}
	}
	return strings.Join(append(texts, "</flame-context>", c.suggestions.text), "")
}

// metadata returns the opening of the text.
func (c *composer) metadata(truncation string) string {
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
	if attrs == "" {
		return ""
	}
	return "    <truncation" + attrs + " />\n"
}

// cut lists the texts that were shortened or dropped.
func (c *composer) cut() []string {
	cut := slices.Concat(c.current.cut, c.ancestors.cut)
	for _, part := range c.completed {
		cut = append(cut, part.cut...)
	}
	return append(cut, c.unfinished.cut...)
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
