package claims

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

// A notation is a way to write a subject with its value. The groups of its form are the subject
// and the value, perhaps in several places.
type notation struct {
	form  func() *regexp.Regexp
	words int                // of the subject, at most
	value func(v Value) bool // reports whether a value is clearly a value, not words; nil if any may follow
	place place
}

// A place says where a notation may occur.
type place int

const (
	inLine place = 1 << iota // as the whole line
	inPart                   // as one of several on a line
	signed                   // anywhere, because of its sign
)

// notations are all notations, first "key: value" and "key = value".
var notations = []notation{
	{core.Pattern(`^(?:([^=]+?): (.*)|([^= ]*[^= <>!+\-:])=([^=].*)|([^=]*[^=<>!+\-:])= (.*)|(.+?): (.*))$`), 8, nil, signed},
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
	for _, n := range notations {
		if n.place&where == 0 {
			continue
		}
		one = keyed{}
		m := n.form().FindStringSubmatch(lo.Ternary(n.value == nil, unmarked, uncoded).Replace(text))
		for i := 1; i < len(m); i += 2 {
			one.key, one.value = one.key+m[i], one.value+m[i+1]
		}
		one.key, one.value = strings.Trim(strings.TrimSpace(one.key), "`\"*_"), strings.TrimSpace(one.value)
		if plainKey(one.key) && one.value != "" && (n.value == nil || !numeric(one.key) &&
			len(strings.Fields(one.key)) <= n.words && n.value(Parse(one.value, nil)) && !governs(one.key)) {
			return one, true
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
			one, ok := readKeyed(part, signed)
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

// outcomes are the forms of lines that say yes or no of an item of a checklist (the first one)
// or of a test.
var outcomes = []func() *regexp.Regexp{
	core.Pattern(`^(?P<says>\[[ xX]\]|[✓✔✅☑✗✘❌☐]) (?P<of>.+)$`),
	core.Pattern(`^(?P<says>ok)\s+(?P<of>\S+)\s+\S.*$`),
	core.Pattern(`^(?P<says>PASS|FAIL)(?:ED)?\s+(?P<of>\S+?),?(?:\s.*)?$`),
	core.Pattern(`^--- (?P<says>PASS|FAIL):\s+(?P<of>\S+?),?(?:\s.*)?$`),
	core.Pattern(`^test (?P<of>\S+) \.\.\. (?P<says>ok|).*$`),
	core.Pattern(`^(?P<of>\S+) (?:.* )?(?P<says>PASS|FAIL)ED$`),
}
