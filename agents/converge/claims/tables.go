package claims

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

// A layout is a way to write a table: the separator of the cells, and the least number of
// cells.
type layout struct {
	cells func() *regexp.Regexp
	least int
	bare  bool // ordinary text may look like it, so it needs a header in words and a column of numbers
}

// layouts are the layouts in the order in which grid tries them.
var layouts = []layout{
	{core.Pattern(` *\| *`), 1, false}, {core.Pattern(` *, *`), 2, true}, {core.Pattern(` *; *`), 2, true},
	{core.Pattern(` +`), 3, true}, {core.Pattern(`  +`), 3, true},
}

// blanks is the index of the layout with single blanks between the cells.
const blanks = 3

// grid returns the header and the rows of a table; nil if the lines are not a table. A table
// outside of a fenced block has more than one blank between its columns.
func grid(lines []string, fenced bool) [][]string {
	for i, l := range layouts {
		rows := l.rows(lines)
		if len(rows) > 1 && (!l.bare || titledFigures(rows) || fenced && i < blanks && !strings.Contains(rows[0][0], " ")) && (fenced || i != blanks) {
			return rows
		}
	}
	return nil
}

// rows splits lines into equal numbers of cells; nil if the lines have another layout.
func (l layout) rows(lines []string) (rows [][]string) {
	drawn := false
	for _, line := range lines {
		line = strings.TrimSpace(struckOut().ReplaceAllString(strings.ReplaceAll(line, "\t", "  "), ""))
		switch {
		case ruled(line):
			drawn = true
			continue
		case line == "" || strings.HasPrefix(line, "$ "):
			continue
		case !l.bare:
			if !strings.Contains(line, "|") {
				return nil
			}
			line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), `\|`, "/")
		}
		row := l.cells().Split(plain.Replace(line), -1)
		if len(row) < l.least || l.bare && len(rows) > 0 && len(row) != len(rows[0]) {
			return nil
		}
		for i, cell := range row {
			row[i] = strings.Trim(strings.TrimSpace(cell), `"`)
		}
		rows = append(rows, row)
	}
	if !l.bare && !drawn {
		return nil
	}
	return rows
}

// ruled reports whether a line is only the border of a row.
func ruled(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && len(line) > 2 && strings.Trim(line, "|+-=: ") == ""
}

// titledFigures reports whether rows have a header in words, and a column of numbers below it.
func titledFigures(rows [][]string) bool {
	if len(rows) < 2 || slices.ContainsFunc(rows[0], func(cell string) bool {
		return numeric(cell) || cell != "#" && strings.IndexFunc(cell, unicode.IsLetter) < 0
	}) {
		return false
	}
	return lo.SomeBy(lo.Range(len(rows[0])), func(column int) bool { return figures(rows[1:], column) })
}

// figures reports whether a column holds numbers only.
func figures(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return column >= len(row) || !numeric(row[column]) })
}

// numeric reports whether a cell begins with a digit, perhaps after a sign.
func numeric(cell string) bool {
	cell = strings.TrimLeft(cell, "+-~<>=$€")
	return cell != "" && isDigit(cell[0])
}

// table reads a table that begins on this line: a Markdown table, or columns that commas or
// wide blanks separate, one of them with numbers.
func (r *reader) table() bool {
	line, next, end := r.lines[r.at], lo.NthOrEmpty(r.lines, r.at+1), r.at
	drawn := strings.Contains(line, "|") && ruled(next)
	if !drawn && (len(r.text) > 0 || !strings.ContainsAny(line, ",;\t") && !strings.Contains(line, "  ")) {
		return false
	}
	goesOn := func(line string) bool {
		return strings.TrimSpace(line) != "" && (!drawn || strings.Contains(line, "|") || ruled(line))
	}
	for end < len(r.lines) && goesOn(r.lines[end]) {
		if end++; !drawn && end-r.at > maxMembers {
			return false
		}
	}
	rows := grid(r.lines[r.at:end], false)
	if rows == nil {
		return false
	}
	r.flush()
	r.at = end
	if !r.section.aside && !r.lead.aside {
		r.rows(rows[0], rows[1:])
	}
	return true
}

// tenseOf reports whether a column shows former (1), present (2) or proposed (3) values; empty
// if its header does not say.
func tenseOf(header string) string {
	if words := splitWords(header); len(words) > 0 && len(words) < 4 {
		return meaning("tenses", words[0])
	}
	return ""
}

// rows reads the rows of a table, each by its name. Among columns with former, present and
// proposed values, it reads only the last.
func (r *reader) rows(header []string, rows [][]string) {
	nameAt, tenses := 0, lo.Map(header, func(h string, _ int) string { return tenseOf(h) })
	latest, several := slices.Max(tenses), len(lo.Uniq(lo.Compact(tenses))) > 1
	if len(header) > 1 && meaning("headers", strings.ToLower(header[0])) == "rank" {
		nameAt = 1
		r.ranked(rows)
	} else if last := len(header) - 1; last > 1 && titledFigures(append([][]string{header}, rows...)) && figures(rows, 0) && !figures(rows, last) {
		nameAt = last
	}
	for _, row := range rows {
		if len(row) <= nameAt || row[nameAt] == "" || len(r.Claims) >= maxClaims {
			continue
		}
		label := uncoded.Replace(row[nameAt])
		if strings.Trim(label, "0123456789") == "" {
			label = header[nameAt] + " " + label
		}
		var values []Value
		for i, h := range header[:min(len(row), len(header))] {
			tense := tenses[i]
			if i == nameAt || i == 0 && nameAt == 1 || row[i] == "" || tense != "" && tense < latest || meaning("headers", strings.ToLower(h)) == "fleeting" {
				continue
			}
			if tense == "3" || tense != "" && several || len(row) == nameAt+2 && meaning("headers", strings.ToLower(h)) == "generic" {
				h = ""
			}
			values = append(values, r.cell(label, h, row[i]))
		}
		if len(values) > 1 && !slices.ContainsFunc(values, func(v Value) bool { return v.Kind != Date }) {
			whole, before := Value{Kind: Atoms, Yes: true, Text: strings.Join(row[nameAt+1:], ", "), list: values}, len(r.Claims)
			r.add(label, append(keyWords(label), "(dates)"), whole, label+": "+whole.Text)
			for i := range r.Claims[before:] {
				r.Claims[before+i].extra = true
			}
		}
	}
}

// cell reads one cell, whose subject is the row with the header of the column.
func (r *reader) cell(label, header, cell string) Value {
	column := keyWords(header)
	words := slices.Compact(slices.Sorted(slices.Values(slices.Concat(keyWords(label), column))))
	v := Parse(cell, words)
	if len(column) == 0 || !r.task.work(column) {
		r.add(strings.TrimSpace(label+" "+header), words, v, label+" | "+cell)
	}
	return v
}

// ranked adds the order of the rows if the task asks for an order.
func (r *reader) ranked(rows [][]string) {
	if !r.task.is["ordered"] {
		return
	}
	v := r.set(lo.FilterMap(rows, func(row []string, _ int) (Value, bool) { return Parse(lo.NthOrEmpty(row, 1), nil), len(row) > 1 }), true)
	r.addList("order", v.Text, v)
}
