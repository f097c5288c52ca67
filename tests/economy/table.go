package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A column of a table shows one figure of a result, beside that of its host without flame, if it
// is known.
type column struct {
	head string
	cell func(r result, base *result) string
}

// costs are the columns of the requests' cost, remains those of the remaining work.
var (
	costs = []column{
		{"requests", func(r result, _ *result) string { return fmt.Sprint(r.Requests) }},
		{"tokens", func(r result, _ *result) string { return millions(r.Tokens) }},
		{"less", compared(fewerTokens)},
		{"cached $", func(r result, _ *result) string { return fmt.Sprintf("%.2f", r.Cached) }},
		{"less", compared(fewerDollars)},
		{"uncached $", func(r result, _ *result) string { return fmt.Sprintf("%.2f", r.Uncached) }},
		{"largest request", func(r result, _ *result) string { return fmt.Sprintf("%.0f k", float64(r.Peak)/1e3) }},
		{"written to the cache", func(r result, _ *result) string { return millions(r.Written) }},
	}
	remains = []column{
		{"goals", func(r result, _ *result) string { return r.Kept.Goals.String() }},
		{"decisions", func(r result, _ *result) string { return r.Kept.Decisions.String() }},
		{"artifacts", func(r result, _ *result) string { return r.Kept.Artifacts.String() }},
		{"summaries", func(r result, _ *result) string { return r.Kept.Summaries.String() }},
		{"user's words", func(r result, _ *result) string { return r.Kept.Words.String() }},
		{"thinking dropped", func(r result, _ *result) string { return fmt.Sprintf("%d of %d", r.Dropped, r.Thinking) }},
		{"requests rejected", func(r result, _ *result) string { return fmt.Sprint(r.Rejected) }},
		{"bytes told again", func(r result, _ *result) string { return fmt.Sprint(r.Twice) }},
	}
)

func compared(figure func(with, without result) float64) func(result, *result) string {
	return func(r result, base *result) string {
		if base == nil {
			return "-"
		}
		return fmt.Sprintf("%.2fx", figure(r, *base))
	}
}

func millions(tokens int) string { return fmt.Sprintf("%.2f M", float64(tokens)/1e6) }

// String returns the number by word, and the number by id.
func (s share) String() string {
	text := fmt.Sprintf("%d of %d", s.ByWord, s.Of)
	if s.ByID > 0 {
		text += fmt.Sprintf(", %d by id", s.ByID)
	}
	return text
}

// write prints the results as two tables of Markdown. Rows that were not measured stay as they are in
// the tables before.
func (r results) write(w io.Writer, before string) {
	tables := strings.Split(before, "\n\n")
	for i, columns := range [][]column{costs, remains} {
		heads, rule := "| |", "|---|"
		for _, c := range columns {
			heads, rule = heads+" "+c.head+" |", rule+"---|"
		}
		fmt.Fprintf(w, "%s\n%s\n", heads, rule)
		var known []string
		if i < len(tables) {
			known = strings.Split(tables[i], "\n")
		}
		for _, v := range variants {
			begins := "| " + hostOf(v.host).title + ", " + v.name + " |"
			if one, ok := r.find(v.host, v.name); ok {
				fmt.Fprintln(w, begins+r.cells(one, columns))
			} else if at := slices.IndexFunc(known, func(row string) bool { return strings.HasPrefix(row, begins) }); at >= 0 {
				fmt.Fprintln(w, known[at])
			}
		}
		fmt.Fprintln(w)
	}
}

// cells returns the figures of a row.
func (r results) cells(one result, columns []column) (row string) {
	var base *result
	if without, ok := r.base(one.Host, one.Variant); ok {
		base = &without
	}
	for _, c := range columns {
		row += " " + c.cell(one, base) + " |"
	}
	return row
}
