package claims

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"flame/core"
)

// A form is the kind of a token.
type form int

const (
	wordForm  form = iota // letters
	nameForm              // an identifier, or the text in backquotes
	valueForm             // a number, a version, a date, a colour, a path
	signForm              // punctuation
)

// A token is a word or a value in a text.
type token struct {
	form  form
	text  string // as written; a word is in lower case
	stem  string // of a word: the part that its inflected forms share
	value Value
}

// plain unifies characters of equal meaning.
var plain = strings.NewReplacer(
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "\t", " ", "−", "-", "–", "-", "—", " - ", "‑", "-",
	"’", "'", "‘", "'", "“", `"`, "”", `"`, "µ", "u", "μ", "u", "≥", ">=", "≤", "<=", "≈", "~", "×", "x", "→", "->", "…", "...",
)

// The following replacers remove Markdown's marks for strong text, and also for code.
var (
	unmarked = strings.NewReplacer("**", "", "__", "")
	uncoded  = strings.NewReplacer("**", "", "__", "", "`", "")
)

// lex splits a line of plain text into tokens.
func lex(s string) (list []token) {
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ':
			i++
		case '`':
			n := strings.IndexByte(s[i+1:], '`')
			if n <= 0 {
				i++
				continue
			}
			list = append(list, codeToken(strings.TrimSpace(s[i+1:i+1+n])))
			i += n + 2
		default:
			t, n := tokenAt(s, i, list)
			list = append(list, t)
			i += n
		}
	}
	return list
}

// maxApart is how many tokens a number stands at most after the word that makes it a version.
const maxApart = 3

// tokenAt returns the token at s[i:] and its length, which is never 0; before has the tokens
// before it.
func tokenAt(s string, i int, before []token) (t token, n int) {
	v, n := valueAt(s, i)
	near := before[max(0, len(before)-maxApart):]
	if v.Kind == Number && v.number.unit == "" && v.number.of == 0 && slices.ContainsFunc(near, func(t token) bool { return stemIn("versioned")(t.stem) }) {
		if version, m := readVersion(s[i:], true); m == n && strings.Contains(s[i:i+n], ".") {
			v = Value{Kind: Version, Text: s[i : i+n], span: [2]string{version, version}}
		}
	}
	if n > 0 {
		return token{form: valueForm, text: s[i : i+n], value: v}, n
	}
	if n = runLength(s[i:]); n > 0 {
		return wordToken(s[i : i+n]), n
	}
	_, n = utf8.DecodeRuneInString(s[i:])
	return token{form: signForm, text: s[i : i+n]}, n
}

// wordToken returns the token of a run of letters, digits and signs between them.
func wordToken(run string) token {
	lower := strings.ToLower(run)
	if strings.HasSuffix(lower, "n't") {
		return token{text: "not", stem: "not"}
	}
	if q, ok := numberInWords(lower); ok {
		return token{form: valueForm, text: lower, stem: lower, value: Value{Kind: Number, Text: run, number: q}}
	}
	if identifier().MatchString(run) {
		return token{form: nameForm, text: run, stem: stem(lower), value: nameValue(run)}
	}
	return token{text: lower, stem: stem(lower)}
}

// codeToken returns the token of a text in backquotes.
func codeToken(inside string) token {
	switch v := Parse(inside, nil); v.Kind {
	case Number, Version, Date, Exact, Commit, File:
		return token{form: valueForm, text: inside, value: v}
	}
	return token{form: nameForm, text: inside, stem: stem(strings.ToLower(inside)), value: nameValue(inside)}
}

// identifier matches a run that is an identifier rather than a word: it has a digit, an inner
// dot, an underscore, or capitals and small letters after its first letter.
var identifier = core.Pattern(`_|\p{Nd}|.\.|^.(?:.*\p{Lu}.*\P{Lu}|.*\P{Lu}.*\p{Lu})`)

// The forms of words: addresses and paths, which have a slash, and all others.
var runForm = core.Pattern(`^(?:[a-z]+://[^\s<>"` + "`" + `)]+|[\pL\pN_~@.*-]*/[\pL\pN_~@./:=?&*%+-]*|[\pL\pN_@]+(?:(?:[.-]|\.\.+|')[\pL\pN_@]+)*(?:\+\+)?)`)

// maxRun is the length limit of a word, in bytes.
const maxRun = 256

// runLength returns the length of the word, name or path at the beginning of s.
func runLength(s string) int {
	return len(strings.TrimRight(runForm().FindString(s[:min(len(s), maxRun)]), ".:-=?&"))
}

// boundary reports whether no word continues at s[i:].
func boundary(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
