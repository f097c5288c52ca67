package notation

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Words is a set of words. It is made when it is first asked: most processes of flame
// compare nothing, and hosts wait for all of them to begin.
type Words func() map[string]bool

// Has reports whether word is in the set.
func (w Words) Has(word string) bool { return w()[word] }

// StemsOf returns the stems of words as a set.
func StemsOf(words string) Words {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			set[Stem(word)] = true
		}
		return set
	})
}

// numberWords are small numbers in letters.
var numberWords = sync.OnceValue(func() map[string]float64 {
	return map[string]float64{
		"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
		"eleven": 11, "twelve": 12, "twenty": 20, "dozen": 12,
	}
})

// Fillers tell nothing of what a claim is about.
var Fillers = SetOf("a an the of for in on at to by is are was were be been has have it its this that these those our my your their with and or as " +
	"value values total overall there from per via will should must would can")

// same gives words that mean the same the same stem.
var same = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"ok": "pass", "succe": "pass", "success": "pass", "succeed": "pass", "green": "pass", "failure": "fail", "maximum": "max", "minimum": "min",
		"approval": "approv", "recommendation": "recommend", "memory": "mem", "average": "avg", "mean": "avg", "database": "db", "repository": "repo",
		"configuration": "config", "postgresql": "postgr", "postgre": "postgr", "javascript": "js", "typescript": "ts", "kubernete": "k8",
		"golang": "go", "environment": "env",
		"verdict": "verdict", "directory": "folder", "dir": "folder", "pct": "percent",
	}
})

// Stem returns what a word in lower case has in common with its other forms.
func Stem(word string) string {
	word = strings.TrimSuffix(word, "'s")
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		word = word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "s") && len(word) > 3 && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") &&
		!strings.HasSuffix(word, "is"):
		word = word[:len(word)-1]
	}
	switch {
	case strings.HasSuffix(word, "ing") && len(word) > 5:
		word = word[:len(word)-3]
	case strings.HasSuffix(word, "ed") && len(word) > 4:
		word = word[:len(word)-2]
	}
	if len(word) > 3 && strings.HasSuffix(word, "e") {
		word = word[:len(word)-1]
	}
	if other, ok := same()[word]; ok {
		return other
	}
	return word
}

// KeyWords returns the stems that name a subject, each once and in order. Names are
// taken apart: maxConns, max_conns and "max conns" are one.
func KeyWords(text string) (list []string) {
	for _, word := range SplitWords(text) {
		if s := Stem(word); !Fillers.Has(word) && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		list = SplitWords(text)
	}
	slices.Sort(list)
	return list
}

// stems returns the stems of words, each once and in order.
func stems(words []string) (list []string) {
	for _, word := range words {
		list = append(list, Stem(word))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// SplitWords returns the words of a text in lower case, names taken apart.
func SplitWords(text string) (list []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			list = append(list, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	before := ' '
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			end()
			word.WriteRune(r)
		default:
			word.WriteRune(r)
		}
		before = r
	}
	end()
	return list
}

// truths are words that mean yes or no.
var truths = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"yes": true, "true": true, "on": true, "enabled": true, "y": true, "✓": true, "✔": true, "✅": true, "☑": true, "x": true,
		"no": false, "false": false, "off": false, "disabled": false, "n": false, "✗": false, "✘": false, "❌": false, "☐": false,
	}
})

// Opposites maps words to what they are about, and whether they affirm it.
var Opposites = sync.OnceValue(func() map[string]opposite {
	m := map[string]opposite{}
	for _, pair := range []string{
		"enabled disabled", "enable disable", "on off", "safe unsafe", "supported unsupported", "pass fail", "passes fails",
		"passed failed", "passing failing",
		"valid invalid", "allowed forbidden", "accepted rejected", "accepts rejects", "possible impossible", "always never",
		"present missing", "present absent", "open closed",
		"correct incorrect", "secure insecure", "stable unstable", "required optional", "reachable unreachable", "complete incomplete", "used unused",
		"up down", "increases decreases", "increased decreased", "faster slower", "higher lower", "ascending descending",
		"synchronous asynchronous", "public private",
		"blocking non-blocking", "compatible incompatible", "changed unchanged", "works broken", "mutable immutable",
		"sensitive insensitive", "affected unaffected",
		"encrypted unencrypted", "available unavailable", "known unknown", "before after", "more less", "inclusive exclusive",
		"succeeds fails", "succeeded failed",
	} {
		yes, no, _ := strings.Cut(pair, " ")
		yes, no = Stem(yes), Stem(no)
		if _, known := m[yes]; !known {
			m[yes] = opposite{yes, true}
		}
		if _, known := m[no]; !known {
			m[no] = opposite{m[yes].About, !m[yes].Affirms}
		}
	}
	return m
})

type opposite struct {
	About   string
	Affirms bool
}

// Negations turn what is said round.
var Negations = SetOf("not no never cannot without none neither nor nothing")

// scales are words of which only one can hold.
var scales = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for name, words := range map[string]string{
		"severity": "critical high medium moderate low info informational negligible",
		"colour":   "red green yellow blue black white orange amber grey gray",
		"size":     "small large tiny huge",
		"day":      "monday tuesday wednesday thursday friday saturday sunday",
		"month":    "january february march april may june july august september october november december",
		"time":     "hourly daily weekly monthly yearly",
	} {
		for word := range strings.FieldsSeq(words) {
			m[Stem(word)] = name
		}
	}
	return m
})

// Scopes are words that say where or for whom something holds: other scope, other thing.
var Scopes = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for name, words := range map[string]string{
		"stage":    "production prod staging dev development qa local canary preview",
		"platform": "linux windows macos darwin android ios freebsd amd64 arm64 x86 arm",
		"browser":  "chrome firefox safari edge",
		"host":     "primary secondary replica standby master leader follower",
		"day":      "monday tuesday wednesday thursday friday saturday sunday weekend weekday",
		"role":     "admin admins administrator user users guest guests anonymous owner viewer editor",
		"place":    "client server frontend backend",
		"level":    "soft hard",
		"limit":    "min max minimum maximum p50 p90 p95 p99 median mean average",
	} {
		for word := range strings.FieldsSeq(words) {
			m[Stem(word)] = name
		}
	}
	return m
})

// boundary reports whether no word goes on at s[i:].
func boundary(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
}

// runLength returns the length of the word, name or path that s begins with.
func runLength(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '/' || r == '~' || r == '@':
		case r == '.' || r == '-' || r == '\'' || r == ':' || r == '+' || r == '*' || r == '&' || r == '=' || r == '?' || r == '%':
			if !inRun(s, n, r) {
				return n
			}
		default:
			return n
		}
		n += size
	}
	return n
}

// inRun reports whether the sign r at s[n] belongs to the word around it.
func inRun(s string, n int, r rune) bool {
	after, _ := utf8.DecodeRuneInString(s[n+1:])
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	switch r {
	case '.':
		return n+1 < len(s) && (word(after) || after == '/' || after == '.')
	case '-':
		return n > 0 && word(after)
	case '\'':
		return n > 0 && unicode.IsLetter(after)
	case '%':
		return n > 0 && strings.Contains(s[:n], "/") && word(after)
	case '+':
		return n > 0 && (after == '+' || s[n-1] == '+')
	}
	return strings.Contains(s[:n], "/") && (word(after) || after == '/' || after == '.') || r == ':' && strings.HasPrefix(s[n:], "://")
}

// SetOf returns the words of a text as a set.
func SetOf(words string) Words {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, word := range strings.Fields(words) {
			set[word] = true
		}
		return set
	})
}

// IsDigit reports whether c is a digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// Roughly are words before a number that make it rough, or a bound of it.
var Roughly = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"about": "about", "~": "about", "around": "about", "roughly": "about", "approximately": "about", "approx": "about", "approx.": "about",
		"circa": "about", "ca.": "about", "some": "about", "nearly": "about", "almost": "about",
		">=": "least", "at least": "least", "more than": "least", ">": "least", "over": "least", "min.": "least", "from": "least", "since": "least",
		"<=": "most", "at most": "most", "up to": "most", "<": "most", "under": "most", "less than": "most", "below": "most", "max.": "most", "until": "most",
	}
})

// cutRough takes a word such as "about" from the front of a number.
func cutRough(text string) (rest, how string) {
	lower := strings.ToLower(text)
	for word, how := range Roughly() {
		if rest, ok := strings.CutPrefix(lower, word); ok && (strings.HasPrefix(rest, " ") || !unicode.IsLetter(rune(word[0]))) &&
			!strings.HasPrefix(rest, "=") {
			return strings.TrimSpace(text[len(word):]), how
		}
	}
	return text, ""
}

// LookBound returns the bound that a meaning of Roughly makes of a number: "least" or "most",
// and nothing for "about", which is none.
func LookBound(how string) string {
	if how == "about" {
		return ""
	}
	return how
}
