package claims

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"flame/core"
)

// A notation is a way to write a subject with its value. The two groups of its form are the
// subject and the value.
type notation struct {
	form  func() *regexp.Regexp
	words int                // of the subject, at most
	value func(v Value) bool // reports whether a value is clearly a value, not words
	place place
}

// A place says where a notation may occur.
type place int

const (
	inLine place = 1 << iota // as the whole line
	inPart                   // as one of several on a line
)

// notations are all notations except "key: value" and "key = value".
var notations = []notation{
	{core.Pattern(`^(.+?) \(([^()]+)\)$`), 2, func(v Value) bool { return v.Kind == Number }, inPart},
	{core.Pattern(`^(?:[Tt]he )?(.+?) is (.+)$`), 3, Value.plain, inPart},
	{core.Pattern(`^(.+?) -> ([^>]+)$`), 4, Value.plain, inLine},
	{core.Pattern(`^(.+?) - (.+)$`), 4, Value.plain, inLine},
	{core.Pattern(`^(.+?) = ([^=]+)$`), 4, Value.plain, inLine},
	{
		core.Pattern(`^([^\d\s]+(?: [^\d\s]+)?) (\d\S*(?: \S+)?)$`), 2,
		func(v Value) bool { return v.Kind == Number && v.number.dimension != "" }, inLine | inPart,
	},
	{
		core.Pattern(`^(?:[Tt]he )?(.+) (?:changed|raised|lowered|reduced|increased|decreased|went|moved|bumped|grew|shrank|cut|set|doubled|dropped|` +
			`fell|rose) from .* to (.+)$`), 5, Value.plain, inLine,
	},
}

// A keyed is a subject with its value, both as written.
type keyed struct{ key, value string }

// plain reports whether a value is clearly a value, not words.
func (v Value) plain() bool { return v.Kind == Nothing || v.Kind >= Truth && v.Kind < File }

// readKeyed reads a text that consists of a subject and its value in one of the notations.
func readKeyed(text string, where place) (one keyed, ok bool) {
	text = uncoded.Replace(text)
	for _, n := range notations {
		m := n.form().FindStringSubmatch(text)
		if n.place&where == 0 || m == nil {
			continue
		}
		key, value := strings.TrimSpace(m[1]), strings.TrimSpace(m[2])
		if plainKey(key) && !numeric(key) && len(strings.Fields(key)) <= n.words && n.value(Parse(value, nil)) && !governs(key) {
			return keyed{key, value}, true
		}
	}
	return one, false
}

// governs reports whether the words before a number do not name a subject: a verb, "about",
// "step".
func governs(key string) bool {
	fields := strings.Fields(strings.ToLower(key))
	last := fields[len(fields)-1]
	return slices.ContainsFunc(fields, wordIn("verbs")) || wordIn("fillers")(last) || meaning("rough", last) != "" || wordIn("labels")(strings.ToLower(key))
}

// keyValue splits "key: value" and "key = value".
func keyValue(line string) (one keyed, ok bool) {
	line = unmarked.Replace(line)
	at, n := strings.Index(line, ": "), 2
	if equals := strings.Index(line, "="); equals > 0 && (at < 0 || equals < at) && !strings.HasPrefix(line[equals:], "==") &&
		!strings.ContainsRune("<>!+-:", rune(line[equals-1])) && (strings.HasPrefix(line[equals:], "= ") || !strings.Contains(line[:equals], " ")) {
		at, n = equals, 1
	}
	if at <= 0 {
		return one, false
	}
	one = keyed{strings.Trim(strings.TrimSpace(line[:at]), "`\"*_"), strings.TrimSpace(line[at+n:])}
	return one, plainKey(one.key) && one.value != ""
}

// maxKey is the length limit of a key, in bytes.
const maxKey = 60

// plainKey reports whether text may name the subject of a value.
func plainKey(key string) bool {
	fields := strings.Fields(key)
	switch {
	case len(key) > maxKey || len(fields) == 0 || len(fields) > 8 || strings.ContainsAny(key, "!?,;|") || strings.Contains(key, ". "):
		return false
	case strings.HasSuffix(key, "http") || strings.HasSuffix(key, "https") || wordIn("openers")(strings.ToLower(fields[0])) && len(fields) > 1:
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// several splits a line of several subjects with their values.
func several(line string) []keyed {
	line = strings.TrimRight(line, ". ")
	for _, sign := range []string{"; ", ", "} {
		parts := strings.Split(strings.ReplaceAll(line, " and `", sign+"`"), sign)
		var list []keyed
		for _, part := range parts {
			part = strings.TrimPrefix(strings.TrimSpace(part), "and ")
			one, ok := keyValue(part)
			if !ok || len(strings.Fields(one.key)) > 4 || len(strings.Fields(one.value)) > 4 {
				one, ok = readKeyed(part, inPart)
			}
			if !ok || strings.Contains(one.value, ": ") {
				break
			}
			list = append(list, one)
		}
		if len(list) == len(parts) && len(list) > 1 {
			return list
		}
	}
	return nil
}

// outcomes are the forms of lines that say yes or no about an item of a checklist or a test.
// The group of a form is the subject: "test" or "words".
var outcomes = []struct {
	form func() *regexp.Regexp
	yes  bool
}{
	{core.Pattern(`^(?:\[[xX]\]|[✓✔✅☑]) (?P<words>.+)$`), true},
	{core.Pattern(`^(?:\[ \]|[✗✘❌☐]) (?P<words>.+)$`), false},
	{core.Pattern(`^ok\s+(?P<test>\S+)\s+\S.*$`), true},
	{core.Pattern(`^(?:PASS(?:ED)?|--- PASS:)\s+(?P<test>\S+?),?(?:\s.*)?$`), true},
	{core.Pattern(`^(?:FAIL(?:ED)?|--- FAIL:)\s+(?P<test>\S+?),?(?:\s.*)?$`), false},
	{core.Pattern(`^test (?P<test>\S+) \.\.\. ok.*$`), true},
	{core.Pattern(`^test (?P<test>\S+) \.\.\. .*$`), false},
	{core.Pattern(`^(?P<test>\S+) (?:.* )?PASSED$`), true},
	{core.Pattern(`^(?P<test>\S+) (?:.* )?FAILED$`), false},
}
