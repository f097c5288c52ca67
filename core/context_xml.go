package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Marks added where text was cut.
const (
	cutMark       = " [truncated]"
	decisionsMark = " [more decisions omitted]"
	artifactsMark = " [more artifacts omitted]"
)

// truncatedAttr marks an element whose text was cut.
const truncatedAttr = ` truncated="true"`

// composedAttr marks a summary that flame composed from the frames below its frame.
const composedAttr = ` composed="true"`

const (
	// minField is the shortest text, in UTF-16 code units, worth printing.
	minField = 8
	// minLine is the least room, in UTF-16 code units, in which a cut field is useful.
	minLine = 72
	// leastGoal is how much of the current frame's and its parent's goal is printed whatever
	// its share, in UTF-16 code units.
	leastGoal = 360
)

// A xmlText is XML text together with what was cut to make it fit.
type xmlText struct {
	text  string
	units int      // length of text in UTF-16 code units
	cut   []string // names of the fields that were cut or left out
}

// A field is one text of a frame: the element it becomes, its share of the
// frame's quota, and the mark that shows a cut.
type field struct {
	tag   string
	of    string // id of the text's frame, if the field stands in the element of another frame
	text  string
	share float64
	mark  string
	attrs string // of the element
	least int    // units that it may take whatever its share
}

// name returns what a list of cut texts calls the field.
func (f field) name() string {
	if f.of == "" {
		return f.tag
	}
	return f.tag + " in " + f.of
}

// appendFrameFields appends the fields of a frame in another frame's context, the most useful
// first. bound are decisions of other frames that bind the work below it. The text of a list
// stops near maxUnits.
func appendFrameFields(list []field, f *Frame, decisions []string, bound []field, maxUnits int) []field {
	list = append(list,
		goalField(f),
		field{tag: "summary", text: f.Summary, share: 0.7, mark: cutMark},
		decisionsField(decisions, 0.3, maxUnits),
	)
	list = append(list, bound...)
	return append(list,
		artifactsField(f, maxUnits),
		field{tag: "log", text: f.LogPath, share: 0.1, mark: cutMark},
	)
}

// currentFields returns the fields of the frame whose context it is. The shares
// of decisions and summary are the reference's.
func currentFields(f *Frame, bound []field, maxUnits int) []field {
	return slices.Concat([]field{
		firstGoal(f),
		{tag: "success-criteria", text: f.SuccessCriteria, share: 0.2, mark: cutMark},
		artifactsField(f, maxUnits),
		decisionsField(f.Decisions, 0.5, maxUnits),
	}, bound, []field{
		{tag: "summary", text: f.Summary, share: 0.4, mark: cutMark},
	})
}

func goalField(f *Frame) field { return field{tag: "goal", text: f.Goal, share: 0.3, mark: cutMark} }

// firstGoal returns the goal of the current frame or its parent.
func firstGoal(f *Frame) field {
	goal := goalField(f)
	goal.least = leastGoal
	return goal
}

func decisionsField(decisions []string, share float64, maxUnits int) field {
	return field{tag: "decisions", text: joinList(decisions, "; ", maxUnits), share: share, mark: decisionsMark}
}

func artifactsField(f *Frame, maxUnits int) field {
	text := joinList(f.Artifacts, ", ", maxUnits)
	if strings.ContainsAny(text, "\r\n") { // a name is one line
		text = OneLine(text, 0)
	}
	return field{tag: "artifacts", text: text, share: 0.2, mark: artifactsMark}
}

// joinList joins at least as many items as fit in maxUnits. It counts bytes: a
// UTF-16 code unit takes at most three in any script.
func joinList(items []string, separator string, maxUnits int) string {
	size := 0
	for i, item := range items {
		if size += len(item) + len(separator); size > 3*maxUnits {
			return strings.Join(items[:i+1], separator)
		}
	}
	return strings.Join(items, separator)
}

// An element is a printed frame: tag and attributes, its fields (the goal
// first), and its body.
type element struct {
	indent string
	inner  string // indent of the fields
	tag    string
	attrs  string
	fields []field
	body   xmlText
}

func newElement(indent, tag string, f *Frame, fields []field) element {
	attrs := ` id="` + EscapeXML(f.ID) + `" status="` + EscapeXML(string(f.Status)) + `"`
	if f.IsRemote() {
		attrs += ` machine="` + EscapeXML(f.Machine) + `"`
	}
	return element{indent: indent, inner: indent + "  ", tag: tag, attrs: attrs, fields: fields}
}

// render prints the element within limit and each field within its share of
// quota, both in UTF-16 code units. Tag, id and body are printed even beyond
// the limit.
func (e element) render(quota, limit int) xmlText {
	used := e.size()
	var few [usualFields]int
	allowed := e.divide(few[:0], quota, limit-used)
	cut := e.body.cut
	room := used
	for _, part := range allowed {
		room += part
	}
	var b strings.Builder
	b.Grow(room)
	writeAll(&b, e.indent, "<", e.tag, e.attrs, ">\n")
	for i, f := range e.fields {
		if f.text == "" {
			continue
		}
		size, whole := f.print(&b, e.inner, allowed[i])
		if !whole {
			cut = append(cut, f.name())
		}
		used += size
	}
	writeAll(&b, e.body.text, e.indent, "</", e.tag, ">\n")
	return xmlText{text: b.String(), units: used, cut: cut}
}

func writeAll(b *strings.Builder, parts ...string) {
	for _, part := range parts {
		b.WriteString(part)
	}
}

// usualFields is how many fields an element has at most: its own, and the decisions that bind its
// work.
const usualFields = 6 + maxBinding

// size returns the units that the tags and the body take.
func (e element) size() int {
	return 2*len(e.indent+e.tag) + len("<>\n</>\n") + units(e.attrs) + e.body.units
}

// fit returns how many of the first fields render prints within limit, and the size of the element
// with them; render may take slightly less, as it cuts between words. The size is more than limit
// if not even the useful fields fit.
func (e element) fit(quota, limit int) (n, size int) {
	size = e.size()
	for i, f := range e.fields {
		if f.text == "" {
			continue
		}
		longer := size + f.need(e.inner, quota)
		if longer > limit && i >= usefulFields {
			return i, size
		}
		size = longer
	}
	return len(e.fields), size
}

// usefulFields is how many fields a shortened entry has at least: without these
// the others say nothing.
const usefulFields = 2

// divide appends the room of each field to allowed: the goal gets what it needs, the
// others share the rest. Where all would get too little, the last ones get nothing.
func (e element) divide(allowed []int, quota, room int) []int {
	rest, others := 0, 0
	for i, f := range e.fields {
		allowed = append(allowed, 0)
		if f.text == "" {
			continue
		}
		allowed[i] = f.need(e.inner, quota)
		if i == 0 {
			allowed[i] = max(0, min(allowed[i], room))
			room -= allowed[i]
			continue
		}
		rest += allowed[i]
		others++
	}
	for i := len(allowed) - 1; others > 1 && rest > room && room/others < minLine; i-- {
		if allowed[i] > 0 {
			rest -= allowed[i]
			allowed[i] = 0
			others--
		}
	}
	if len(allowed) > 1 {
		FairShares(allowed[1:], room, func(i, share int) int {
			allowed[i+1] = share
			return share
		})
	}
	return allowed
}

// need returns the units of the field's line if its text takes at most its share
// of quota. A text that is no longer than its cut form counts whole.
func (f field) need(indent string, quota int) int {
	share := max(f.least, int(f.share*float64(quota))) + len(truncatedAttr)
	return f.tagUnits(indent) + min(xmlUnits(f.text, share), share)
}

// tagUnits returns the units of the tags around the field's text.
func (f field) tagUnits(indent string) int {
	return len(indent) + len("<></>\n") + 2*len(f.tag) + len(f.attrs)
}

// print writes the field's line within limit and returns its size in UTF-16
// code units; whole is false if print cut the text or left it out.
func (f field) print(b *strings.Builder, indent string, limit int) (size int, whole bool) {
	text, attrs, mark := f.text, f.attrs, ""
	room := limit - f.tagUnits(indent)
	width := xmlUnits(text, room)
	if whole = width <= room; !whole {
		attrs, mark = attrs+truncatedAttr, f.mark
		if room -= len(truncatedAttr) + len(mark); room < minField {
			return 0, false
		}
		text = wholeWords(head(text, room, xmlWidth), float64(room), xmlWidth)
		width = xmlUnits(text, room)
	}
	writeAll(b, indent, "<", f.tag, attrs, ">", quoteData(text), mark, "</", f.tag, ">\n")
	return f.tagUnits(indent) + len(attrs) - len(f.attrs) + width + len(mark), whole
}

// suggestionMark begins flame's own suggestions. In data flame replaces its
// bracket with another one, so that no frame can speak as flame.
const suggestionMark = "[FLAME SUGGESTION"

// quoteData escapes a text of a frame.
func quoteData(s string) string {
	return EscapeXML(strings.ReplaceAll(s, suggestionMark, "("+suggestionMark[1:]))
}

// attr returns an attribute with a count, or "" for 0.
func attr(name string, n int) string {
	if n == 0 {
		return ""
	}
	return " " + name + `="` + strconv.Itoa(n) + `"`
}

// maxCutList bounds the list of what was cut, in UTF-16 code units.
const maxCutList = 160

// cutList names as many of the cut texts as fit within maxCutList and counts
// the others.
func cutList(cut []string) string {
	list := ""
	for i, name := range cut {
		longer := EscapeXML(name)
		if i > 0 {
			longer = list + ", " + longer
		}
		if xmlUnits(longer, maxCutList) > maxCutList-len(" and 1000000 more") {
			return strings.TrimSpace(fmt.Sprintf("%s and %d more", list, len(cut)-i))
		}
		list = longer
	}
	return list
}
