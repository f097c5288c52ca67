package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Marks added where text was cut (spec: context §7).
const (
	cutMark       = " [truncated]"
	decisionsMark = " [more decisions omitted]"
	artifactsMark = " [more artifacts omitted]"
)

// truncatedAttr marks an element whose text was cut.
const truncatedAttr = ` truncated="true"`

// minField is the shortest text, in UTF-16 code units, worth printing.
const minField = 8

// A rendering is XML text together with what was cut to make it fit.
type rendering struct {
	text  string
	units int      // length of text in UTF-16 code units
	cut   []string // names of the fields that were cut or left out
}

// A field is one text of a frame: the element it becomes, its share of the
// frame's quota, and the mark that shows a cut.
type field struct {
	tag   string
	text  string
	share float64
	mark  string
}

// frameFields returns the fields of a frame in another one's context. A list is
// joined to at most maxUnits.
func frameFields(f *Frame, maxUnits int) []field {
	return []field{
		{"goal", f.Goal, 0.3, cutMark},
		{"summary", f.Summary, 0.7, cutMark},
		{"artifacts", joinList(f.Artifacts, ", ", maxUnits), 0.2, artifactsMark},
		{"log", f.LogPath, 0.1, cutMark},
	}
}

// currentFields returns the fields of the frame whose context it is. The shares
// of decisions and summary are the reference's (spec: context §3).
func currentFields(f *Frame, maxUnits int) []field {
	return []field{
		{"goal", f.Goal, 0.3, cutMark},
		{"success-criteria", f.SuccessCriteria, 0.2, cutMark},
		{"artifacts", joinList(f.Artifacts, ", ", maxUnits), 0.2, artifactsMark},
		{"decisions", joinList(f.Decisions, "; ", maxUnits), 0.5, decisionsMark},
		{"summary", f.Summary, 0.4, cutMark},
	}
}

// plannedFields returns the fields of a frame that is only planned.
func plannedFields(f *Frame) []field {
	return []field{{"goal", f.Goal, 0.7, cutMark}, {"success-criteria", f.SuccessCriteria, 0.3, cutMark}}
}

// goalField returns the goal alone.
func goalField(f *Frame) []field { return []field{{"goal", f.Goal, 0.3, cutMark}} }

// joinList joins as many items as fit in maxUnits, whatever their script: a
// UTF-16 code unit takes at most three bytes.
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
	tag    string
	attrs  string
	fields []field
	body   rendering
}

func newElement(indent, tag string, f *Frame, fields []field) element {
	attrs := ` id="` + EscapeXML(f.ID) + `" status="` + EscapeXML(string(f.Status)) + `"`
	return element{indent: indent, tag: tag, attrs: attrs, fields: fields}
}

// render prints the element within limit and each field within its share of
// quota, both in UTF-16 code units. Tag, id and body are printed even beyond
// the limit.
func (e element) render(quota, limit int) rendering {
	open, end := e.indent+"<"+e.tag+e.attrs+">\n", e.indent+"</"+e.tag+">\n"
	used := units(open) + e.body.units + units(end)
	allowed := e.divide(quota, limit-used)
	cut := e.body.cut
	room := used
	for _, part := range allowed {
		room += part
	}
	var b strings.Builder
	b.Grow(room)
	b.WriteString(open)
	for i, f := range e.fields {
		if f.text == "" {
			continue
		}
		size, whole := f.print(&b, e.indent+"  ", allowed[i])
		if !whole {
			cut = append(cut, f.tag)
		}
		used += size
	}
	b.WriteString(e.body.text)
	b.WriteString(end)
	return rendering{text: b.String(), units: used, cut: cut}
}

// size returns the units that render takes without a limit, or slightly more
// where cutting between words leaves room unused.
func (e element) size(quota int) int {
	size := 2*len(e.indent+e.tag) + len("<>\n</>\n") + units(e.attrs) + e.body.units
	for _, f := range e.fields {
		if f.text != "" {
			size += f.need(e.indent+"  ", int(f.share*float64(quota)))
		}
	}
	return size
}

// divide returns the room of each field: the goal gets what it needs, the
// others share the rest by max-min fairness, so that short fields stay whole
// and long ones divide what those leave.
func (e element) divide(quota, room int) []int {
	allowed := make([]int, len(e.fields))
	order := make([]int, 0, len(e.fields))
	for i, f := range e.fields {
		if f.text != "" {
			allowed[i] = f.need(e.indent+"  ", int(f.share*float64(quota)))
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if a == 0 || b == 0 {
			return a - b
		}
		return allowed[a] - allowed[b]
	})
	for n, i := range order {
		fair := room
		if i > 0 {
			fair /= len(order) - n
		}
		allowed[i] = max(0, min(allowed[i], fair))
		room -= allowed[i]
	}
	return allowed
}

// need returns the units of the field's line if its text may take share: the
// whole text if it is no longer than the cut one would be.
func (f field) need(indent string, share int) int {
	share += len(truncatedAttr)
	return f.tagUnits(indent) + min(xmlUnits(f.text, share), share)
}

// tagUnits returns the units of the tags around the field's text.
func (f field) tagUnits(indent string) int {
	return len(indent) + len("<></>\n") + 2*len(f.tag)
}

// print writes the field's line within limit and returns its size in UTF-16
// code units; whole is false if it was cut or left out.
func (f field) print(b *strings.Builder, indent string, limit int) (size int, whole bool) {
	text, attrs, mark := f.text, "", ""
	room := limit - f.tagUnits(indent)
	width := xmlUnits(text, room)
	if whole = width <= room; !whole {
		attrs, mark = truncatedAttr, f.mark
		if room -= len(attrs) + len(mark); room < minField {
			return 0, false
		}
		text = wholeWords(head(text, room, xmlWidth), float64(room), xmlWidth)
		width = xmlUnits(text, room)
	}
	for _, part := range []string{indent, "<", f.tag, attrs, ">", quoteData(text), mark, "</", f.tag, ">\n"} {
		b.WriteString(part)
	}
	return f.tagUnits(indent) + len(attrs) + width + len(mark), whole
}

// suggestionMark begins flame's own suggestions. In data it gets a different
// bracket of the same width, so that no frame can speak as flame.
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
