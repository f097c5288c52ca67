package claims

import (
	"slices"
	"strings"
	"unicode"

	"flame/agents/converge/notation"
)

// fleeting are headers of columns that show when somebody looked, not what is.
var fleeting = notation.SetOf("age pid time started start elapsed uptime")

// columns reads lines whose columns are set apart by blanks only, as many tools write
// them: a header, and rows with as many columns. Names come first in the result.
func columns(lines []string) (rows [][]string) {
	for _, split := range []func(string) []string{strings.Fields, wide} {
		if rows = aligned(lines, split); rows != nil {
			break
		}
	}
	if rows == nil {
		return nil
	}
	header, name := rows[0], 0
	if last := len(header) - 1; figures(rows[1:], 0) && !figures(rows[1:], last) {
		name = last
	}
	order := []int{name}
	for i, h := range header {
		if i != name && !fleeting.Has(strings.ToLower(h)) {
			order = append(order, i)
		}
	}
	for i, row := range rows {
		rows[i] = make([]string, len(order))
		for j, from := range order {
			rows[i][j] = row[from]
		}
	}
	return rows
}

// aligned splits lines into as many cells each, three at least; nil if they are no table.
func aligned(lines []string, split func(string) []string) (rows [][]string) {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "$ ") || ruled(line) {
			continue
		}
		row := split(notation.Plain.Replace(strings.ReplaceAll(line, "\t", "  ")))
		if len(row) < 3 || len(rows) > 0 && len(row) != len(rows[0]) {
			return nil
		}
		rows = append(rows, row)
	}
	if !titledFigures(rows) {
		return nil
	}
	return rows
}

// titledFigures reports whether rows have a header in words, and numbers below one of them.
func titledFigures(rows [][]string) bool {
	if len(rows) < 2 || slices.ContainsFunc(rows[0], func(cell string) bool { return numeric(cell) || !lettered(cell) }) {
		return false
	}
	for i := range rows[0] {
		if figures(rows[1:], i) {
			return true
		}
	}
	return false
}

// ruled reports whether a line only draws one.
func ruled(line string) bool { return len(line) > 2 && strings.Trim(line, "-=+|:_ ") == "" }

// wide splits a line where two blanks or more are.
func wide(line string) (cells []string) {
	for part := range strings.SplitSeq(line, "  ") {
		if part = strings.TrimSpace(part); part != "" {
			cells = append(cells, part)
		}
	}
	return cells
}

// lettered reports whether a cell has a letter in it.
func lettered(cell string) bool { return strings.IndexFunc(cell, unicode.IsLetter) >= 0 || cell == "#" }

// figures reports whether a column holds numbers only.
func figures(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return !numeric(row[column]) })
}

// numeric reports whether a cell begins with a digit, perhaps behind a sign.
func numeric(cell string) bool {
	cell = strings.TrimLeft(cell, "+-~<>=$€")
	return cell != "" && unicode.IsDigit(rune(cell[0]))
}

// Headers that show what was, what is, and what is to be.
var (
	formers  = notation.SetOf("before old previous previously former formerly was earlier")
	presents = notation.SetOf("today current currently now present is")
	futures  = notation.SetOf("after new proposed recommended recommendation target suggested proposal planned")
)

// roles are what the columns of a table stand for beside each other: what was, what is
// and what is to be.
type roles struct{ past, present, future []bool }

// rolesOf reads the roles of columns from their headers.
func rolesOf(header []string) roles {
	var list roles
	for _, h := range header {
		words := notation.SplitWords(h)
		is := func(set notation.Words) bool { return len(words) > 0 && len(words) < 4 && set.Has(words[0]) }
		list.past = append(list.past, is(formers))
		list.present = append(list.present, is(presents))
		list.future = append(list.future, is(futures))
	}
	return list
}

// former reports whether a column shows what was, or is, beside another that says what is,
// or is to be.
func (r roles) former(column int) bool {
	switch {
	case slices.Contains(r.future, true):
		return r.past[column] || r.present[column]
	case slices.Contains(r.present, true):
		return r.past[column]
	}
	return false
}

// latter reports whether a column is the one that counts beside others that do not.
func (r roles) latter(column int) bool {
	return r.future[column] || r.present[column] && slices.Contains(r.past, true) && !slices.Contains(r.future, true)
}
