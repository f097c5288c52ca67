// Package form has the forms that Go's values take in SQL and in SQLite's columns.
package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"flame/core"
)

// Bind returns the value of a field, a pointer, in SQLite's form.
func Bind(field any) (any, error) {
	switch p := field.(type) {
	case *string:
		return Clean(*p), nil
	case *core.Status:
		return string(*p), nil
	case *core.SessionState:
		return string(*p), nil
	case *int:
		return *p, nil
	case *int64:
		return *p, nil
	case *core.Millis:
		return int64(*p), nil
	case *bool:
		return *p, nil
	case *float64:
		return *p, nil
	case **float64:
		if *p == nil {
			return nil, nil
		}
		return **p, nil
	case *[]string:
		return list(*p)
	case *json.RawMessage:
		if len(*p) == 0 {
			return nil, nil
		}
		return Clean(string(*p)), nil
	}
	panic(fmt.Sprintf("store: a column keeps a %T", field))
}

// Target returns what Scan writes into for a field.
func Target(field any) any {
	switch p := field.(type) {
	case *[]string:
		return listInto{p}
	case *json.RawMessage:
		return (*[]byte)(p)
	case *core.Status:
		return (*string)(p)
	case *core.SessionState:
		return (*string)(p)
	case *core.Millis:
		return (*int64)(p)
	}
	return field
}

// list returns a list as JSON text; nil gives an empty list.
func list(list []string) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	return JSON(Cleaned(list))
}

// A listInto reads JSON text into a list; an empty one leaves it nil.
type listInto struct{ list *[]string }

// Scan reads src, which is text.
func (l listInto) Scan(src any) error {
	var text []byte
	switch src := src.(type) {
	case string:
		text = []byte(src)
	case []byte:
		text = src
	default:
		return fmt.Errorf("a list is %T instead of text", src)
	}
	if string(text) == "[]" {
		return nil
	}
	if list, plain := plainList(string(text)); plain {
		*l.list = list
		return nil
	}
	return json.Unmarshal(text, l.list)
}

// plainList reads a JSON list of texts if nothing in it is escaped, which takes a
// fraction of what json.Unmarshal does. It lets pass what JSON escapes, as it stands.
func plainList(text string) (list []string, plain bool) {
	inside, is := strings.CutPrefix(text, `["`)
	if !is || strings.Contains(text, `\`) || !utf8.ValidString(text) {
		return nil, false
	}
	inside, is = strings.CutSuffix(inside, `"]`)
	list = strings.Split(inside, `","`)
	return list, is && strings.Count(text, `"`) == 2*len(list)
}

// Clean makes text valid UTF-8, as its readers expect; SQLite would keep any
// bytes.
func Clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Cleaned returns a list of texts as Clean does each.
func Cleaned(list []string) []string {
	cleaned := make([]string, len(list))
	for i, s := range list {
		cleaned[i] = Clean(s)
	}
	return cleaned
}

// AtMost is SQL's LIMIT. The plus keeps SQLite from planning for the exact
// number, which would recompile the statement for each.
const AtMost = " LIMIT +?"

// LimitOf converts a query's limit, where 0 means none, for AtMost, where -1
// does.
func LimitOf(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// JSON returns v as JSON text that words can be found in: < and > stay.
func JSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Placeholders returns n question marks with commas between.
func Placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// JSONOf returns keys as a JSON array.
func JSONOf[T int64 | string](list []T) string {
	text, _ := json.Marshal(list) // these can always be encoded
	return string(text)
}

// Match returns what FTS5 matches with every word of a user's text; empty if that has no
// words. Each word is quoted, which disables FTS5's syntax.
func Match(text string) string {
	var words []string
	for _, word := range strings.FieldsFunc(Clean(text), func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
		if strings.ContainsFunc(word, isLetterOrNumber) && len(words) < maxWords {
			words = append(words, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		}
	}
	return strings.Join(words, " ")
}

// maxWords bounds a search; FTS5 refuses expressions deeper than 256.
const maxWords = 100

func isLetterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Unique returns a list without repeats, which a UNION ALL would repeat.
func Unique[S ~string](list []S) []S {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// Args returns a list of strings as arguments.
func Args[S ~string](list []S) []any {
	args := make([]any, len(list))
	for i, s := range list {
		args[i] = string(s)
	}
	return args
}

// IDOf returns the SQL for the id of a key column.
func IDOf(column string) string {
	return "coalesce((SELECT id FROM ids WHERE ids.key = " + column + "), '')"
}

// KeyOf is the SQL for the key of an id given as a parameter; KeyOf1 for that
// of the first parameter, which may be used again.
const (
	KeyOf  = "(SELECT key FROM ids WHERE id = ?)"
	KeyOf1 = "(SELECT key FROM ids WHERE id = ?1)"
)

// IsNoList returns SQL for: the column is not a JSON list of texts.
func IsNoList(column string) string {
	return fmt.Sprintf(`(%[1]s <> '[]' AND CASE WHEN json_valid(%[1]s) THEN
		json_type(%[1]s) <> 'array' OR EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE type <> 'text') ELSE true END)`, column)
}

// Later returns a function that makes SQL when it is first called. A process needs a few of
// all statements, and would pay for the text of each before main.
func Later(sql func() string) func() string { return sync.OnceValue(sql) }
