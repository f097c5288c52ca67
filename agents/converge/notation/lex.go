package notation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Form is what a token looks like.
type Form int

const (
	WordForm   Form = iota // letters
	NameForm               // an identifier, or what stands in backquotes
	PathForm               // of a file, or an address
	ValueForm              // a number, a version, a date, a colour
	SignForm               // punctuation
	NumberWord             // a small number in letters
)

// A Token is a word of a text, or a value in it.
type Token struct {
	Form  Form
	Text  string // as written; a word is in lower case
	Stem  string // of a word: what it has in common with its other forms
	Value Value  // of values, names and paths
}

// Plain has one notation for characters that mean the same.
var Plain = strings.NewReplacer(
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "\t", " ", "−", "-", "–", "-", "—", " - ", "‑", "-",
	"’", "'", "‘", "'", "“", `"`, "”", `"`, "µ", "u", "μ", "u", "≥", ">=", "≤", "<=", "≈", "~", "×", "x", "→", "->", "…", "...",
)

// Lex splits a line of plain text into tokens.
func Lex(s string) (list []Token) {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ':
			i++
		case c == '`':
			n := strings.IndexByte(s[i+1:], '`')
			if n <= 0 {
				i++
				continue
			}
			list = append(list, codeToken(s[i+1:i+1+n]))
			i += n + 2
		default:
			t, n, ok := named(list, s, i)
			if !ok {
				t, n = next(s, i)
			}
			list = append(list, t)
			i += n
		}
	}
	return list
}

// named returns the version at s[i:] and its length, if the words before say that the
// number there is one: "the version is 1.10". ok is false for anything else.
func named(before []Token, s string, i int) (t Token, n int, ok bool) {
	if !IsDigit(s[i]) || !slices.ContainsFunc(before[max(0, len(before)-maxApart):], func(t Token) bool { return versioned.Has(t.Stem) }) {
		return t, 0, false
	}
	for n = 1; i+n < len(s) && (IsDigit(s[i+n]) || s[i+n] == '.' && i+n+1 < len(s) && IsDigit(s[i+n+1])); n++ {
	}
	if _, whole, quantity := readQuantity(s, i); !strings.Contains(s[i:i+n], ".") || !boundary(s, i+n) || quantity && whole != n {
		return t, 0, false
	}
	v := versionOf(s[i : i+n])
	return Token{Form: ValueForm, Text: s[i : i+n], Value: Value{Kind: Version, Text: s[i : i+n], version: [2]string{v, v}}}, n, true
}

// versioned are words whose numbers are versions in a sentence, at most maxApart tokens
// behind them.
var versioned = StemsOf("version release php python node go golang java ruby rust toolchain compiler runtime")

const maxApart = 3

// next returns the token at s[i:] and its length. It is never 0.
func next(s string, i int) (Token, int) {
	if d, n, ok := readDate(s[i:]); ok && boundary(s, i+n) {
		return Token{Form: ValueForm, Text: s[i : i+n], Value: Value{Kind: Date, Text: s[i : i+n], day: d}}, n
	}
	if v, n, ok := readColour(s[i:]); ok && boundary(s, i+n) {
		return Token{Form: ValueForm, Text: s[i : i+n], Value: v}, n
	}
	n := runLength(s[i:])
	run := s[i : i+n]
	if isHash(run) {
		return Token{Form: ValueForm, Text: run, Value: Value{Kind: Commit, Text: run, Name: run}}, n
	}
	if IsPath(run) {
		return Token{Form: PathForm, Text: run, Value: pathValue(run)}, n
	}
	if v, n, ok := readVersion(s[i:]); ok && boundary(s, i+n) {
		return Token{Form: ValueForm, Text: s[i : i+n], Value: v}, n
	}
	if q, n, ok := readQuantity(s, i); ok {
		return Token{Form: ValueForm, Text: s[i : i+n], Value: Value{Kind: Number, Text: s[i : i+n], Quantity: q}}, n
	}
	if n == 0 {
		_, size := utf8.DecodeRuneInString(s[i:])
		return Token{Form: SignForm, Text: s[i : i+size]}, size
	}
	return wordToken(run), n
}

// wordToken returns the token of a run of letters, digits and signs between.
func wordToken(run string) Token {
	lower := strings.ToLower(run)
	if strings.HasSuffix(lower, "n't") {
		return Token{Form: WordForm, Text: "not", Stem: "not"}
	}
	if n, ok := numberWords()[lower]; ok {
		return Token{Form: NumberWord, Text: lower, Stem: lower, Value: Value{Kind: Number, Text: run, Quantity: point(n)}}
	}
	if identifier(run) {
		return Token{Form: NameForm, Text: run, Stem: Stem(lower), Value: NameValue(run)}
	}
	return Token{Form: WordForm, Text: lower, Stem: Stem(lower)}
}

// codeToken returns the token of what stands in backquotes.
func codeToken(inside string) Token {
	inside = strings.TrimSpace(inside)
	if IsPath(inside) {
		return Token{Form: PathForm, Text: inside, Value: pathValue(inside)}
	}
	v := Parse(inside, nil)
	switch v.Kind {
	case Number, Version, Date, Colour, Commit:
		return Token{Form: ValueForm, Text: inside, Value: v}
	}
	return Token{Form: NameForm, Text: inside, Stem: Stem(strings.ToLower(inside)), Value: NameValue(inside)}
}

// isHash reports whether a run is a hash as git has them, or the beginning of one.
func isHash(run string) bool {
	return len(run) >= 7 && len(run) <= 40 && strings.Trim(run, "0123456789abcdef") == "" && strings.ContainsAny(run, "0123456789") &&
		strings.ContainsAny(run, "abcdf")
}

// identifier reports whether a run is a name of a program rather than a word.
func identifier(run string) bool {
	upper, digit := 0, false
	for i, r := range run {
		switch {
		case r == '_' || r == '.' && i > 0:
			return true
		case unicode.IsUpper(r) && i > 0:
			upper++
		case unicode.IsDigit(r):
			digit = true
		}
	}
	return digit || upper > 0 && upper+1 < len(run)
}

// IsPath reports whether a run is the path of a file or an address.
func IsPath(run string) bool {
	if strings.ContainsAny(run, " {}()<>=,;\"") {
		return false
	}
	slash := strings.IndexByte(run, '/')
	if slash < 0 {
		dot := strings.LastIndexByte(run, '.')
		return dot > 0 && extensions.Has(strings.ToLower(run[dot+1:]))
	}
	letters := strings.IndexFunc(run, unicode.IsLetter) >= 0
	if !letters {
		return false
	}
	if slash == 0 || strings.HasPrefix(run, "./") || strings.HasPrefix(run, "../") || strings.HasPrefix(run, "~/") {
		return len(run) > slash+1
	}
	if !unicode.IsLetter(rune(run[0])) && run[0] < utf8.RuneSelf && run[0] != '_' && run[0] != '@' && run[0] != '.' {
		return false
	}
	return slash+1 < len(run) && (strings.Count(run, "/") > 1 || strings.ContainsAny(run, "._-")) && !isUnitRatio(run)
}

// isUnitRatio reports whether a run is a unit such as MB/s.
func isUnitRatio(run string) bool {
	above, below, ok := strings.Cut(run, "/")
	_, known := units()[below]
	_, counted := units()[above]
	return ok && known && (counted || len(above) < 4)
}

// extensions are those by which a word is known as a file without a folder.
var extensions = SetOf("go py js ts tsx jsx rs c h cc cpp java rb php sh sql md txt json yaml yml toml ini cfg conf html css xml csv log " +
	"lock mod sum proto tmpl vue kt swift cs env golden tf")
