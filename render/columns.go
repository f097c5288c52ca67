package render

import (
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns how many columns of a terminal a line takes.
func Columns(s string) (n int) {
	for _, r := range s {
		n += ColumnsOf(r)
	}
	return n
}

// ColumnsOf returns how many columns a character takes: two if it is as wide as those of
// East Asia, none if it goes with the one before it.
func ColumnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutColumns returns the beginning of a line that takes at most so many columns; it ends in
// an ellipsis if something is left out.
func CutColumns(s string, most int) string {
	if Columns(s) <= most {
		return s
	}
	left := most - 1
	for i, r := range s {
		if left -= ColumnsOf(r); left < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
