package claims

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

// dateLayouts are the unambiguous notations of dates and times of day: a layout of package time
// for reading, and one for the part of a date that it contains.
var dateLayouts = [][2]string{
	{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05"}, {"2006-01-02T15:04:05", "2006-01-02T15:04:05"},
	{"2006-01-02T15:04Z07:00", "2006-01-02T15:04:05"}, {"2006-01-02T15:04", "2006-01-02T15:04:05"},
	{"2006-01-02", "2006-01-02"}, {"2006/01/02", "2006-01-02"}, {"2.1.2006", "2006-01-02"}, {"2 Jan 2006", "2006-01-02"}, {"Jan 2 2006", "2006-01-02"},
	{"2006-01", "2006-01"}, {"Jan 2006", "2006-01"}, {"2 Jan", "-01-02"}, {"Jan 2", "-01-02"}, {"15:04:05", "T15:04:05"}, {"15:04", "T15:04"},
}

const dateWord = `(?:\d{1,4}(?:st|nd|rd|th)?|[A-Z][a-z]{2,8}\.?)`

// The forms of a text that may be a date (words and numbers with signs between them), of the
// names of months (the first three letters count), of omitted parts, and of the last part.
var (
	dateForm  = core.Pattern(`^` + dateWord + `(?:(?:[-/.:T]|,? (?:of )?)` + dateWord + `){1,5}(?:Z|[+-]\d\d:\d\d)?`)
	monthForm = core.Pattern(`\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|` +
		`Nov(?:ember)?|Dec(?:ember)?)\b\.?`)
	dateRest = core.Pattern(`(\d)(?:st|nd|rd|th)\b|,| of\b`)
	datePart = core.Pattern(`[-/.:T+Z ,]*(?:\w+|[^\w])$`)

	dateGoesOn = core.Pattern(`^[-/.:]\d`)
)

// readDate reads the date at the beginning of s, in the form for compareDates.
func readDate(s string) (date string, n int) {
	run := dateForm().FindString(window(s))
	for ; len(run) > 3; run = strings.TrimRight(datePart().ReplaceAllString(run, ""), " ,.") {
		if !boundary(s, len(run)) || dateGoesOn().MatchString(window(s[len(run):])) {
			continue
		}
		text := dateRest().ReplaceAllString(run, "$1")
		text = monthForm().ReplaceAllStringFunc(text, func(month string) string { return month[:3] })
		if len(text) > 15 && text[10] == ' ' {
			text = text[:10] + "T" + text[11:]
		}
		for _, layout := range dateLayouts {
			if at, err := time.Parse(layout[0], text); err == nil && (at.Year() == 0 || at.Year() >= 1500 && at.Year() < 3000) {
				return at.UTC().Format(layout[1]), len(run)
			}
		}
	}
	return "", 0
}

var (
	versionForm = core.Pattern(`^(v|V|go|r)?(\d+(?:\.(?:\d+|x))*)((?:[-+][A-Za-z][A-Za-z0-9]*(?:\.\d[A-Za-z0-9]*)*)?)`)
	colourForm  = core.Pattern(`^#([0-9a-fA-F]+)`)
	hashForm    = core.Pattern(`^[0-9a-f]{7,40}$`)
)

// readVersion reads a version at the beginning of s. A version has a prefix or three parts,
// unless the words around it call it a version (named).
func readVersion(s string, named bool) (version string, n int) {
	m := versionForm().FindStringSubmatch(window(s))
	if m == nil {
		return "", 0
	}
	dots := strings.Count(m[2], ".")
	if !named && (m[1] == "" && dots < 2 || m[1] == "r" && dots == 0) {
		return "", 0
	}
	if strings.HasPrefix(m[3], "+") { // a build of the same version
		m[3] = ""
	}
	return m[2] + strings.ToLower(m[3]), len(m[0])
}

// valueAt reads a value other than a word at s[i:]: a date, a colour, a commit, a path, a
// version or a number; n is its length, or 0 if there is none.
func valueAt(s string, i int) (v Value, n int) {
	rest := s[i:]
	if date, n := readDate(rest); n > 0 {
		return Value{Kind: Date, Text: rest[:n], name: date}, n
	}
	if m := colourForm().FindString(window(rest)); m != "" && boundary(rest, len(m)) {
		if hex := colour(strings.ToLower(m[1:])); hex != "" {
			return Value{Kind: Exact, Text: m, name: hex}, len(m)
		}
	}
	run := rest[:runLength(rest)]
	switch {
	case isHash(run):
		return Value{Kind: Commit, Text: run, name: run}, len(run)
	case isPath(run):
		return pathValue(run), len(run)
	}
	if version, n := readVersion(rest, false); n > 0 && boundary(rest, n) {
		return Value{Kind: Version, Text: rest[:n], span: [2]string{version, version}}, n
	}
	if q, n := readQuantity(s, i); n > 0 {
		return Value{Kind: Number, Text: rest[:n], number: q}, n
	}
	return Value{}, 0
}

// colour returns a hex colour with two digits for each part; empty if it is not a colour.
func colour(hex string) string {
	if n := len(hex); (n == 3 || n == 4) && strings.ContainsAny(hex, "abcdef") {
		hex = eachDigit().ReplaceAllString(hex, "$0$0")
	}
	if len(hex) == 8 {
		hex = strings.TrimSuffix(hex, "ff")
	}
	return lo.Ternary(len(hex) == 6 || len(hex) == 8, hex, "")
}

var eachDigit = core.Pattern(`.`)

// isHash reports whether a word is a git hash or the beginning of one.
func isHash(word string) bool {
	return hashForm().MatchString(word) && strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdf")
}

var pathForm = core.Pattern(`^(?:(?:\.{0,2}|~)/[^/].*|[\pL_@.][^/]*/.*[/._-].*|[\pL_@.][^/]*[._-][^/]*/.+|[_.][^/]*/.+)$`)

// isPath reports whether a word is the path of a file or an address.
func isPath(word string) bool {
	if strings.ContainsAny(word, " {}()<>=,;\"") {
		return false
	}
	above, below, slash := strings.Cut(word, "/")
	if !slash {
		dot := strings.LastIndexByte(word, '.')
		return dot > 0 && wordIn("extensions")(strings.ToLower(word[dot+1:]))
	}
	rate := knownUnit(below) && (knownUnit(above) || len(above) < 4)
	return !(rate && above != "") && strings.IndexFunc(word, unicode.IsLetter) >= 0 && pathForm().MatchString(word)
}

var lineOfFile = core.Pattern(`^([^:]+):(\d+)(?::\d+)?$`)

// pathValue returns the value of an address or of a path, perhaps with a line number.
func pathValue(text string) Value {
	v := Value{Kind: File, Text: text, name: strings.TrimSuffix(text, "/")}
	if !strings.Contains(text, "://") {
		clean := strings.TrimSuffix(text, ":")
		if m := lineOfFile().FindStringSubmatch(clean); m != nil {
			clean, v.words = m[1], m[2:3]
		}
		v.name = path.Clean(clean)
	}
	return v
}

// Parse reads the value of a key. The words of the key determine the meaning of numbers.
func Parse(text string, key []string) Value {
	text = strings.TrimSpace(text)
	bare := strings.TrimSpace(strings.Trim(strings.TrimRight(text, ".;,"), "*_`\"'"))
	lower := strings.ToLower(bare)
	switch truth := meaning("truths", lower); {
	case lower == "" || truth == "nothing":
		return Value{Kind: Nothing, Text: text}
	case truth != "":
		return Value{Kind: Truth, Text: text, Yes: truth == "yes"}
	case len(key) > 0 && stemIn("ids")(key[len(key)-1]) && !strings.Contains(bare, " ") && !isHash(bare):
		return Value{Kind: Name, Text: text, words: []string{lower}}
	}
	v, ok := parseVersion(bare, key)
	if !ok {
		n := 0
		if v, n = valueAt(bare, 0); n != len(bare) || v.Kind == Number || v.Kind == Version {
			v, ok = parseQuantity(bare, key)
		} else {
			ok = true
		}
	}
	if !ok {
		v, ok = leadingTruth(bare)
	}
	if !ok {
		v, ok = inlineList(text)
	}
	if !ok {
		return nameValue(text)
	}
	v.Text = text
	return v
}

// parseVersion reads a value that is a version or a range of versions.
func parseVersion(text string, key []string) (v Value, ok bool) {
	text, how := cutRough(text)
	named := slices.ContainsFunc(key, stemIn("versions"))
	version, n := readVersion(text, named)
	if n == 0 {
		return v, false
	}
	v = Value{Kind: Version, span: [2]string{version, version}}
	rest := text[n:]
	if sign := rangeForm().FindString(rest); sign != "" {
		if to, m := readVersion(rest[len(sign):], named); m > 0 {
			v.span[1], rest = to, rest[len(sign)+m:]
		}
	}
	rest = strings.TrimSpace(rest)
	if rest == "+" || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "and ") {
		how, rest = "least", ""
	}
	if how == "least" {
		v.span[1] = latest
	}
	return v, rest == "" || rest[0] == '(' || rest[0] == ','
}

// parseQuantity reads a value that is a number, perhaps followed by a few words for the
// counted things or by a remark.
func parseQuantity(text string, key []string) (v Value, ok bool) {
	text, how := cutRough(text)
	if how == "" {
		text = strings.Replace(strings.TrimPrefix(text, "between "), " and ", " to ", 1)
	}
	q, n := readQuantity(text, 0)
	if n == 0 {
		if q, ok = numberInWords(text); !ok {
			return v, false
		}
		n = len(text)
	}
	rest := strings.TrimSpace(text[n:])
	if strings.HasPrefix(rest, "+") && how == "" {
		how, rest = "least", rest[1:]
	}
	if at := strings.IndexAny(rest, "(;,#"); at >= 0 {
		if next := strings.TrimLeft(rest[at+1:], " "); rest[at] == ',' && next != "" && isDigit(next[0]) {
			return v, false
		}
		rest = strings.TrimSpace(rest[:at])
	}
	if strings.Count(rest, " ") > 3 || rest != "" && !unicode.IsLetter(rune(rest[0])) {
		return v, false
	}
	if q.dimension == "" {
		q.apply(unitOfKey(key))
	}
	return Value{Kind: Number, number: q.bounded(how)}, true
}

// unitOfKey returns the unit in a key such as timeout_ms.
func unitOfKey(key []string) string {
	for _, word := range key {
		if name := meaning("key units", word); name != "" && len(key) > 1 {
			return name
		}
	}
	return ""
}

// leadingTruth reads "yes (since 2.1)" and "no, never".
func leadingTruth(text string) (v Value, ok bool) {
	end := strings.IndexAny(text, " ,;(")
	if end < 2 {
		return v, false
	}
	truth, rest := meaning("truths", strings.ToLower(text[:end])), strings.TrimLeft(text[end:], " ")
	return Value{Kind: Truth, Yes: truth == "yes"}, (truth == "yes" || truth == "no") && strings.ContainsAny(rest[:1], "-,;(")
}

// inlineList reads a list on one line: "a, b and c", "[a, b]".
func inlineList(text string) (v Value, ok bool) {
	inside, bracketed := strings.CutPrefix(text, "[")
	inside = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(inside, " "), "]"), ". ")
	parts := strings.Split(strings.ReplaceAll(strings.ReplaceAll(inside, ", and ", ", "), " and ", ", "), ", ")
	if len(parts) < 2 || len(parts) > maxMembers {
		return v, false
	}
	v = Value{Kind: Set, all: true}
	for _, part := range parts {
		if !bracketed && len(strings.Fields(part)) > 2 || strings.TrimSpace(part) == "" {
			return v, false
		}
		v.list = append(v.list, Parse(part, nil))
	}
	return v, true
}

// maxName is how many words a name may have; more are prose.
const maxName = 5

// nameValue returns words as a name, or as prose if there are too many.
func nameValue(text string) Value {
	main := text
	for _, sign := range []string{"(", ";", " - ", ", "} {
		if at := strings.Index(main, sign); at > 0 && (sign != ", " || strings.Count(main[:at], " ") < maxName) {
			main = main[:at]
		}
	}
	all, words := splitWords(main), keyWords(main)
	if !strings.Contains(strings.TrimSpace(main), " ") {
		words = stems(all)
	}
	v := Value{Kind: Name, Text: text, name: strings.Join(strings.Fields(strings.ToLower(text)), " "), Yes: true}
	v.Yes = lo.CountBy(all, wordIn("negations"))%2 == 0
	v.words = slices.DeleteFunc(words, wordIn("negations"))
	if len(v.words) == 0 {
		v.words = all
	}
	if len(all) > maxName || len(v.words) == 0 {
		v.Kind = Prose
	}
	return v
}
