package store

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"
	"unicode"

	"github.com/samber/lo"
)

// clean makes text valid UTF-8, as its readers expect; SQLite would keep any
// bytes.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cleaned applies clean to each text of a list.
func cleaned(list []string) []string {
	return lo.Map(list, func(s string, _ int) string { return clean(s) })
}

// atMost is SQL's LIMIT. The plus keeps SQLite from planning for the exact
// number, which would recompile the statement for each.
const atMost = " LIMIT +?"

// limitOf converts a query's limit for atMost: no limit is 0 in a query and -1 in SQL.
func limitOf(limit int) int {
	return cmp.Or(max(limit, 0), -1)
}

// jsonText returns v as JSON text that words can be found in: < and > stay.
func jsonText(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// placeholders returns n question marks with commas between.
func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// jsonOf returns keys or ids as a JSON array.
func jsonOf[T int64 | string](list []T) string {
	text, _ := json.Marshal(list) // these can always be encoded
	return string(text)
}

// matching returns the FTS5 expression that matches every word of a user's text; empty if the
// text has no words. It quotes each word, which disables FTS5's syntax.
func matching(text string) string {
	var words []string
	for _, word := range strings.FieldsFunc(clean(text), func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) && len(words) < maxWords {
			words = append(words, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		}
	}
	return strings.Join(words, " ")
}

// maxWords bounds a search; FTS5 refuses expressions deeper than 256.
const maxWords = 100

// keyOf is the SQL for the key of an id that is a parameter. keyOf1 takes the first
// parameter, which a statement may use repeatedly.
const (
	keyOf  = "(SELECT key FROM ids WHERE id = ?)"
	keyOf1 = "(SELECT key FROM ids WHERE id = ?1)"
)

// later returns a function that makes SQL when it is first called. A process needs only a few
// statements, and would otherwise make the text of all of them before main.
func later(sql func() string) func() string { return sync.OnceValue(sql) }
