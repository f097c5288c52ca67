package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// table reads a table that begins on this line.
func (r *reader) table() bool {
	if r.at+1 >= len(r.lines) || !strings.Contains(r.lines[r.at], "|") || !separator(r.lines[r.at+1]) {
		return false
	}
	r.flush()
	header := cells(r.lines[r.at])
	r.at += 2
	var rows [][]string
	for ; r.at < len(r.lines) && (strings.Contains(r.lines[r.at], "|") || separator(r.lines[r.at])); r.at++ {
		if !separator(r.lines[r.at]) {
			rows = append(rows, cells(r.lines[r.at]))
		}
	}
	if !r.section.aside && !r.lead.aside {
		r.rows(header, rows)
	}
	return true
}

// plainTable reads a table that begins on this line and has only commas or wide blanks
// between its columns, and numbers in one of them.
func (r *reader) plainTable() bool {
	line := r.lines[r.at]
	if len(r.text) > 0 || !strings.ContainsAny(line, ",;\t") && !strings.Contains(line, "  ") {
		return false
	}
	end := r.at
	for end < len(r.lines) && strings.TrimSpace(r.lines[end]) != "" {
		if end++; end-r.at > maxMembers {
			return false
		}
	}
	lines := r.lines[r.at:end]
	rows := separated(lines)
	if rows != nil && !titledFigures(rows) {
		return false
	}
	if rows == nil {
		rows = aligned(lines, wide)
	}
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

// gridIn returns the header and the rows of a table without the signs of Markdown; nil if
// lines are none.
func gridIn(lines []string) [][]string {
	for _, read := range []func([]string) [][]string{separated, boxed, columns} {
		if rows := read(lines); rows != nil {
			return rows
		}
	}
	return nil
}

// boxed reads a table that is drawn with lines.
func boxed(lines []string) (rows [][]string) {
	drawn := false
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "$ "):
		case separator(line):
			drawn = true
		case !strings.Contains(line, "|"):
			return nil
		default:
			rows = append(rows, cells(line))
		}
	}
	if !drawn || len(rows) < 2 {
		return nil
	}
	return rows
}

// separator reports whether a line is that below the header of a table.
func separator(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && strings.ContainsAny(line, "|+") && strings.Trim(line, "|+-=: ") == ""
}

// cells returns the cells of a row.
func cells(line string) []string {
	line = strings.TrimSpace(notation.Plain.Replace(dropFormer(line)))
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	all := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(cell)
	}
	return all
}

// separated reads lines of values with commas between.
func separated(lines []string) (rows [][]string) {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sign := ","
		if strings.Count(line, ";") > strings.Count(line, ",") {
			sign = ";"
		}
		rows = append(rows, strings.Split(line, sign))
		if n := len(rows); len(rows[n-1]) < 2 || len(rows[n-1]) != len(rows[0]) || strings.Contains(rows[0][0], " ") {
			return nil
		}
	}
	if len(rows) < 2 {
		return nil
	}
	for _, row := range rows {
		for i := range row {
			row[i] = strings.Trim(strings.TrimSpace(row[i]), `"`)
		}
	}
	return rows
}

// Headers that only number the rows, and that mean whatever the row says.
var (
	ranks    = notation.SetOf("# rank no no. nr pos place position")
	generics = notation.SetOf("value setting answer result state status")
)

// rows reads the rows of a table, each by the name in its first cell.
func (r *reader) rows(header []string, rows [][]string) {
	nameAt := 0
	if len(header) > 1 && ranks.Has(strings.ToLower(header[0])) {
		nameAt = 1
		r.ranked(header, rows)
	}
	roles := rolesOf(header)
	for _, row := range rows {
		if len(row) <= nameAt || row[nameAt] == "" || len(r.reading.Claims) >= maxClaims {
			continue
		}
		label := strings.NewReplacer("**", "", "`", "").Replace(row[nameAt])
		if strings.IndexFunc(label, func(c rune) bool { return c < '0' || c > '9' }) < 0 {
			label = header[nameAt] + " " + label
		}
		whole := notation.Value{Kind: notation.Atoms, Yes: true, Text: strings.Join(row[nameAt+1:], ", ")}
		for i, cell := range row {
			if i <= nameAt || i >= len(header) || cell == "" || roles.former(i) {
				continue
			}
			h := header[i]
			if roles.latter(i) || len(row) == nameAt+2 && generics.Has(strings.ToLower(h)) {
				h = ""
			}
			v := r.cell(label, h, cell)
			whole.List = append(whole.List, v)
		}
		if len(whole.List) > 1 && !slices.ContainsFunc(whole.List, func(v notation.Value) bool {
			return v.Kind != whole.List[0].Kind ||
				v.Kind != notation.Date
		}) {
			r.add(label, append(notation.KeyWords(label), "(dates)"), whole, label+": "+whole.Text)
			lastClaim(r.reading.Claims).extra = true
		}
	}
}

// cell reads one cell: its subject is the row with the header above.
func (r *reader) cell(label, header, cell string) notation.Value {
	column := notation.KeyWords(header)
	words := slices.Compact(slices.Sorted(slices.Values(slices.Concat(notation.KeyWords(label), headed(column, header)))))
	v := notation.Parse(cell, words)
	if v.Kind == notation.Number && v.Quantity.Dimension == "" && !v.Quantity.Ratio {
		if open := strings.IndexAny(header, "(["); open > 0 {
			v.Quantity.Apply(notation.LookUnit(strings.Trim(header[open:], "()[]")))
		}
	}
	if len(column) > 0 && r.reading.task.work(column) {
		return v
	}
	if v.Kind == notation.Prose {
		v.Text = cell
	}
	r.add(strings.TrimSpace(label+" "+header), words, v, label+" | "+cell)
	return v
}

// ranked notes the place of each row, where the task asks for an order.
func (r *reader) ranked(header []string, rows [][]string) {
	if !r.reading.task.ordered {
		return
	}
	v := notation.Value{Kind: notation.Set, Ordered: true, Exact: true}
	for _, row := range rows {
		if len(row) > 1 {
			v.List = append(v.List, notation.Parse(row[1], nil))
		}
	}
	v.Text = join(v.List)
	r.units++
	r.lists = append(r.lists, Claim{Subject: "order", Text: v.Text, Value: v, unit: r.units})
}

// lastClaim returns the claim that was added last.
func lastClaim(list []Claim) *Claim {
	if len(list) == 0 {
		return &Claim{}
	}
	return &list[len(list)-1]
}

// headed returns the words of a column; none if it has no header.
func headed(column []string, header string) []string {
	if strings.TrimSpace(header) == "" {
		return nil
	}
	return column
}
