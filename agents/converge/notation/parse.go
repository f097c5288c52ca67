package notation

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// Parse reads a value as it stands behind a key. The words of the key say how numbers
// are meant.
func Parse(text string, key []string) Value {
	text = strings.TrimSpace(text)
	bare := strings.TrimSpace(strings.Trim(strings.TrimRight(text, ".;,"), "*_`\"'"))
	lower := strings.ToLower(bare)
	if lower == "" || bare == "[]" || bare == "{}" || nones.Has(lower) {
		return Value{Kind: Nothing, Text: text}
	}
	if yes, ok := truths()[lower]; ok {
		return Value{Kind: Truth, Text: text, Yes: yes}
	}
	if len(key) > 0 && identities.Has(key[len(key)-1]) && !strings.Contains(bare, " ") && !isHash(bare) {
		return Value{Kind: Name, Text: text, Words: []string{lower}} // 007 is not 7
	}
	if v, ok := parseVersion(bare, key); ok {
		v.Text = text
		return v
	}
	if d, n, ok := readDate(bare); ok && n == len(bare) && d != "" {
		return Value{Kind: Date, Text: text, day: d}
	}
	if v, n, ok := readColour(bare); ok && n == len(bare) {
		return v
	}
	if isHash(bare) {
		return Value{Kind: Commit, Text: text, Name: bare}
	}
	if IsPath(bare) {
		return pathValue(bare)
	}
	if v, ok := ParseQuantity(bare, key); ok {
		v.Text = text
		return v
	}
	if v, ok := parseLeadingTruth(bare); ok {
		v.Text = text
		return v
	}
	if v, ok := ParseInline(text); ok {
		return v
	}
	return NameValue(text)
}

// identities are keys whose values name something: they are no numbers.
var identities = StemsOf("id sha commit hash zip phone serial pin")

var nones = SetOf("none nothing null nil empty n/a - -- n.a.")

// parseLeadingTruth reads "yes (since 2.1)" and "no, never".
func parseLeadingTruth(text string) (Value, bool) {
	end := strings.IndexAny(text, " ,;(")
	if end < 0 {
		return Value{}, false
	}
	yes, ok := truths()[strings.ToLower(text[:end])]
	rest := strings.TrimLeft(text[end:], " ")
	if !ok || text[end] == ' ' && !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "-") || len(text[:end]) == 1 {
		return Value{}, false
	}
	return Value{Kind: Truth, Yes: yes}, true
}

// ParseQuantity reads a number that is the whole value, but for a few words behind it
// that say what is counted, or a remark in parentheses.
func ParseQuantity(text string, key []string) (Value, bool) {
	text, how := cutRough(text)
	text = strings.TrimPrefix(text, "between ")
	text = strings.Replace(text, " and ", " to ", lookIf(how == "", 1))
	q, n, ok := readQuantity(text, 0)
	if !ok {
		x, found := numberWords()[strings.ToLower(text)]
		if !found {
			return Value{}, false
		}
		q, n = point(x), len(text)
	}
	rest := strings.TrimSpace(text[n:])
	if strings.HasPrefix(rest, "+") && how == "" {
		how, rest = "least", rest[1:]
	}
	if at := strings.IndexAny(rest, "(;,#"); at >= 0 {
		if next := strings.TrimLeft(rest[at+1:], " "); rest[at] == ',' && next != "" && IsDigit(next[0]) {
			return Value{}, false
		}
		rest = strings.TrimSpace(rest[:at])
	}
	if strings.Count(rest, " ") > 3 || rest != "" && !unicode.IsLetter(rune(rest[0])) {
		return Value{}, false
	}
	q.About, q.Bound = how == "about", LookBound(how)
	if q.Dimension == "" && !q.Ratio {
		q.Apply(unitOfKey(key))
	}
	return Value{Kind: Number, Quantity: q}, true
}

func lookIf(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}

// unitOfKey returns the unit that a key ends with, such as that of timeout_ms.
func unitOfKey(key []string) string {
	if len(key) < 2 {
		return ""
	}
	for _, word := range []string{"ms", "sec", "second", "kb", "KB", "mb", "MB", "gb", "percent", "byt", "minut", "hour", "KiB", "MiB", "kib", "mib"} {
		if slices.Contains(key, strings.ToLower(word)) {
			return map[string]string{"mb": "MB", "gb": "GB", "byt": "byte", "minut": "min", "kib": "KiB", "mib": "MiB"}[word] + LookUnit(word)
		}
	}
	return ""
}

// LookUnit returns a word if it is a unit that is converted (kB, min, %), else nothing. Case
// counts: MB is known, Mbyte is not.
func LookUnit(word string) string {
	if _, ok := units()[word]; ok {
		return word
	}
	return ""
}

// readColour reads a colour in hex notation.
func readColour(s string) (Value, int, bool) {
	if len(s) < 4 || s[0] != '#' {
		return Value{}, 0, false
	}
	n := 1
	for n < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[n]) >= 0 {
		n++
	}
	hex := strings.ToLower(s[1:n])
	if (len(hex) == 3 || len(hex) == 4) && strings.ContainsAny(hex, "abcdef") {
		var long strings.Builder
		for _, c := range hex {
			long.WriteString(string(c) + string(c))
		}
		hex = long.String()
	}
	if len(hex) != 6 && len(hex) != 8 {
		return Value{}, 0, false
	}
	if len(hex) == 8 && strings.HasSuffix(hex, "ff") {
		hex = hex[:6]
	}
	return Value{Kind: Colour, Text: s[:n], Name: hex}, n, true
}

// pathValue returns the value of a path or an address.
func pathValue(text string) Value {
	clean := text
	var line []string
	if !strings.Contains(text, "://") {
		clean, line = cutLine(strings.TrimSuffix(text, ":"))
		clean = path.Clean(clean)
	}
	return Value{Kind: File, Text: text, Name: strings.TrimSuffix(clean, "/"), Words: line}
}

// cutLine splits the number of a line off a path, as "a/b.go:48" has it.
func cutLine(text string) (file string, line []string) {
	parts := strings.Split(text, ":")
	if len(parts) > 1 && len(parts) < 4 && !slices.ContainsFunc(parts[1:], func(part string) bool { return Whole(part) < 0 }) {
		return parts[0], parts[1:2]
	}
	return text, nil
}

// MaxName is how many words a name has at most: more are prose.
const MaxName = 5

// NameValue returns words as a name, or as prose if they are many.
func NameValue(text string) Value {
	main := text
	if at := strings.IndexAny(main, "(;"); at > 0 {
		main = main[:at]
	}
	if at := strings.Index(main, " - "); at > 0 {
		main = main[:at]
	}
	if at := strings.Index(main, ", "); at > 0 && strings.Count(main[:at], " ") < MaxName {
		main = main[:at]
	}
	all := SplitWords(main)
	words := KeyWords(main)
	if !strings.Contains(strings.TrimSpace(main), " ") {
		words = stems(all)
	}
	v := Value{Kind: Name, Text: text, Name: strings.Join(strings.Fields(strings.ToLower(text)), " "), Words: words, Yes: true}
	for _, word := range all {
		if Negations.Has(word) {
			v.Yes = !v.Yes
		}
	}
	v.Words = slices.DeleteFunc(v.Words, func(word string) bool { return Negations.Has(word) })
	if len(v.Words) == 0 && len(all) > 0 {
		v.Words = all
	}
	if len(all) > MaxName || len(v.Words) == 0 {
		v.Kind = Prose
	}
	return v
}

// ParseInline reads a list on one line: "a, b and c", "[a, b]".
func ParseInline(text string) (Value, bool) {
	inside, bracketed := strings.CutPrefix(text, "[")
	inside = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(inside, " "), "]"), ". ")
	parts := strings.Split(strings.ReplaceAll(strings.ReplaceAll(inside, ", and ", ", "), " and ", ", "), ", ")
	if len(parts) < 2 || len(parts) > 100 {
		return Value{}, false
	}
	v := Value{Kind: Set, Text: text, Exact: true}
	for _, part := range parts {
		if !bracketed && len(strings.Fields(part)) > 2 || strings.TrimSpace(part) == "" {
			return Value{}, false
		}
		v.List = append(v.List, Parse(part, nil))
	}
	return v, true
}
