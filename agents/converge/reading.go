package converge

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

// A parsedText is a text as values with names, and the rest in words.
type parsedText struct {
	entries map[string]entry
	rest    []string // the lines without values
	words   string   // the rest in normal form
}

// An entry is a value with a name: "port", or "north.open" in a table.
type entry struct {
	name    string
	section string // the heading above, in normal form
	place   int    // the number of lines without values above
	value   any
	text    string // its line
}

// A line is one line of a text with the values in it; none if it is only words.
type line struct {
	text    string
	entries []entry
}

// The forms of lines. A fence is no line of its own, nor is the rule of a table.
var (
	headingForm = core.Pattern(`^(?:#{1,6}\s+(.+)|\[([^\[\]]+)\])$`)
	fenceForm   = core.Pattern("^(?:```+|~~~+) ?[\\w+-]*$")
	rulerForm   = core.Pattern(`^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$`)
	bulletForm  = core.Pattern(`^[-*+] +`)
	keyForm     = core.Pattern(`^(?:([^:=|]+):\s+(.+)|([^:=|\s]*[^:=|<>!+\s-])=([^=].*)|([^:=|]*[^:=|<>!+\s-]\s*) = (.+))$`)
	boldForm    = core.Pattern(`^\*\*([^*/]+)\*\*`)
)

// readText reads keys with values and tables; all else is rest.
// What a text says twice, and not the same, is rest as well.
func readText(text string) parsedText {
	lines := readLines(text)
	count := map[string]int{}
	each := func(f func(e *entry)) {
		for _, l := range lines {
			for i := range l.entries {
				f(&l.entries[i])
			}
		}
	}
	each(func(e *entry) { count[e.name]++ })
	each(func(e *entry) {
		if count[e.name] > 1 && e.section != "" { // then its heading belongs to its name
			e.name = e.section + "." + e.name
		}
	})
	first, ambiguous := map[string]any{}, map[string]bool{}
	each(func(e *entry) {
		if value, ok := first[e.name]; ok && !agree(value, e.value, tolerance{}) {
			ambiguous[e.name] = true
		}
		first[e.name] = e.value
	})
	r := parsedText{entries: map[string]entry{}}
	for _, l := range lines {
		if len(l.entries) == 0 || slices.ContainsFunc(l.entries, func(e entry) bool { return ambiguous[e.name] }) {
			r.rest = append(r.rest, l.text)
			continue
		}
		for _, e := range l.entries {
			e.place, e.text = len(r.rest), l.text
			r.entries[e.name] = e
		}
	}
	r.words = normal(strings.Join(r.rest, "\n"))
	return r
}

func readLines(text string) (lines []line) {
	section, rows := "", strings.Split(text, "\n")
	for i := 0; i < len(rows); i++ {
		row := strings.TrimSpace(rows[i])
		if n, table := readTable(rows[i:]); n > 0 {
			lines = append(lines, table...)
			i += n - 1
			continue
		}
		if m := headingForm().FindStringSubmatch(row); m != nil {
			section = normal(m[1] + m[2])
		}
		if row != "" && !fenceForm().MatchString(row) {
			lines = append(lines, readKey(row, section))
		}
	}
	return lines
}

// maxKey is how many words a key has at most.
const maxKey = 6

func readKey(row, section string) line {
	words := line{text: row}
	m := keyForm().FindStringSubmatch(boldForm().ReplaceAllString(bulletForm().ReplaceAllString(row, ""), "$1"))
	if m == nil {
		return words
	}
	key, value := normal(unquoted(m[1]+m[3]+m[5])), unquoted(strings.TrimSuffix(m[2]+m[4]+m[6], "."))
	begins := strings.IndexFunc(key, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) == 0
	if !begins || value == "" || len(strings.Fields(key)) > maxKey {
		return words
	}
	return line{row, []entry{{name: key, section: section, value: scalar(value)}}}
}

// unquoted removes the blanks, and one pair of quotes or marks of code, around a text.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	for _, mark := range []string{`"`, "`"} {
		if inside := strings.TrimSuffix(strings.TrimPrefix(text, mark), mark); len(inside) == len(text)-2 && !strings.Contains(inside, mark) {
			return strings.TrimSpace(inside)
		}
	}
	return text
}

// scalar returns what a text is in JSON: true, false, null or text. Numbers stay as written.
func scalar(text string) any {
	switch text {
	case "true", "false":
		return text == "true"
	case "null":
		return nil
	}
	return text
}

// readTable reads a Markdown table: each cell by its row and column. A row of another length
// is words; n is the number of the table's lines.
func readTable(rows []string) (n int, lines []line) {
	if len(rows) < 3 || !strings.Contains(rows[0], "|") || !rulerForm().MatchString(strings.TrimSpace(rows[1])) {
		return 0, nil
	}
	header := cells(rows[0])
	if len(header) < 2 || len(header) != len(cells(rows[1])) {
		return 0, nil
	}
	lines = append(lines, line{text: header[0]}) // a row is the same row only below the same corner
	for n = 2; n < len(rows) && strings.Contains(rows[n], "|"); n++ {
		row := cells(rows[n])
		l := line{text: strings.TrimSpace(rows[n])}
		if len(row) == len(header) && row[0] != "" {
			for i, column := range header[1:] {
				l.entries = append(l.entries, entry{name: step(step("", normal(row[0])), normal(column)), value: scalar(row[i+1])})
			}
		}
		lines = append(lines, l)
	}
	if !slices.ContainsFunc(lines, func(l line) bool { return len(l.entries) > 0 }) {
		return 0, nil
	}
	return n, lines
}

func cells(row string) []string {
	const bar = "\x00"
	row = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(row), `\|`, bar), "|"), "|")
	return lo.Map(strings.Split(row, "|"), func(cell string, _ int) string { return unquoted(strings.ReplaceAll(cell, bar, `\|`)) })
}

// step returns the path of a property below a path. A name that could be a path is quoted.
func step(path, name string) string {
	if strings.Contains(name, ".") || name == "" {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// compare compares two texts: they are equal if they name the same values at the same places
// among the same words.
func (r parsedText) compare(other parsedText, t tolerance) verdict {
	all := []verdict{compareTexts(strings.Join(r.rest, "\n"), strings.Join(other.rest, "\n"), t)}
	for name := range r.entries {
		v, sides := verdicts([]parsedText{r, other}, name, t)
		all = append(all, lo.Ternary(len(sides) < 2, unclear, v))
	}
	return overall(append(all, lo.Ternary(len(r.entries) == len(other.entries), equal, unclear)))
}
