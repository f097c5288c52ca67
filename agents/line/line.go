// Package line parses the line after a slash command: free text with options in it, as people
// type it ("Fix what isn't right --timeout 60"). It knows the syntax of options, not their
// meaning.
package line

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// An Option is an option that a command knows.
type Option struct {
	Name   string // without the hyphens before it: "agent-type"
	Switch bool   // on or off; the only words that it takes as its value are true and false
}

// A Line is a parsed line.
type Line struct {
	Words  []string          // all words besides options, with quotes and backslashes resolved
	Rest   string            // the same as typed: with quotes, blanks and line ends, without options
	Values map[string]string // by Option.Name; the value of a switch is "true" or "false"
}

// Parse parses text. Options have the form --name value or --name=value, with hyphens or
// underscores inside the name, and may stand anywhere before a word "--". Quotes and
// backslashes work as in a shell, with three exceptions for prose: an apostrophe inside a word
// is text, a quote without a closing quote is text, and so is everything between backquotes,
// which remain. An unknown option, a repeated option and an option without its value are a
// Problem.
func Parse(text string, options []Option) (Line, error) {
	p := parser{
		text:    text,
		options: options,
		line:    Line{Words: []string{}, Values: map[string]string{}},
	}
	if err := p.run(); err != nil {
		return Line{}, err
	}
	p.line.Rest = strings.TrimFunc(p.rest.String(), unicode.IsSpace)
	return p.line, nil
}

// A parser reads text once, word by word.
type parser struct {
	text    string
	options []Option
	at      int // its position in text
	line    Line
	rest    strings.Builder
}

func (p *parser) run() error {
	ended := false
	for {
		from := p.at
		word, ok := p.next()
		switch {
		case !ok:
			return nil
		case ended || !optional(word.raw):
			p.line.Words = append(p.line.Words, word.text)
			p.rest.WriteString(p.text[from:p.at])
		case word.raw == "--": // the end of the options
			ended = true
		default:
			if err := p.option(word); err != nil {
				return err
			}
		}
	}
}

// next returns the word after the blanks at p's position; false at the end.
func (p *parser) next() (word, bool) {
	for p.at < len(p.text) {
		width := blank(p.text[p.at:])
		if width == 0 {
			break
		}
		p.at += width
	}
	if p.at == len(p.text) {
		return word{}, false
	}
	w := scan(p.text[p.at:])
	p.at += len(w.raw)
	return w, true
}

// option parses the option that word begins, including its value.
func (p *parser) option(w word) error {
	name, _, assigned := strings.Cut(w.raw, "=")
	spelled := strings.ReplaceAll(strings.TrimPrefix(name, "--"), "_", "-")
	known := slices.IndexFunc(p.options, func(o Option) bool { return o.Name == spelled })
	if known < 0 {
		return p.unknown(name)
	}
	option := p.options[known]
	if _, given := p.line.Values[option.Name]; given {
		return core.Invalidf("option --%s is given twice", option.Name).WithHint("give it once")
	}
	value, err := p.value(option, w, assigned)
	if err != nil {
		return err
	}
	p.line.Values[option.Name] = value
	return nil
}

// value returns the value of an option: after the "=" of its own word, or in the next word.
func (p *parser) value(option Option, w word, assigned bool) (string, error) {
	_, value, _ := strings.Cut(w.text, "=") // a known option has neither quotes nor backslashes before the "="
	switch {
	case option.Switch && assigned:
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			return "", core.Invalidf("option --%s is true or false, not %q", option.Name, value).
				WithHint("write --%s, or --%s=false", option.Name, option.Name)
		}
		return strconv.FormatBool(on), nil
	case option.Switch:
		// People also write "--background false", and would not notice if the word became
		// text.
		from := p.at
		if next, ok := p.next(); ok && (next.raw == "true" || next.raw == "false") {
			return next.raw, nil
		}
		p.at = from
		return "true", nil
	case !assigned:
		if next, ok := p.next(); ok && !optional(next.raw) {
			return next.text, nil
		}
	case value != "" || !strings.HasSuffix(w.raw, "="):
		return value, nil
	}
	return "", core.Invalidf("option --%s has no value", option.Name).
		WithHint("write --%s VALUE, or --%s=VALUE if the value begins with hyphens", option.Name, option.Name)
}

// unknown returns the error for an option that the command does not know.
func (p *parser) unknown(name string) error {
	there := "there are none"
	if len(p.options) > 0 {
		there = "there are --" + strings.Join(lo.Map(p.options, func(o Option, _ int) string { return o.Name }), ", --")
	}
	return core.Invalidf("unknown option %s: %s", name, there).
		WithHint("if it is part of the text, put it in quotes, or put -- before the text")
}

// optional reports whether a word as typed is an option or ends the options. Words with one
// hyphen or three are prose or Markdown.
func optional(raw string) bool {
	name, ok := strings.CutPrefix(raw, "--")
	return ok && (name == "" || unicode.IsLetter(firstRune(name)))
}

// A word is the text between two blanks that are not quoted.
type word struct {
	raw  string // as typed
	text string // with quotes and backslashes resolved
}

// scan returns the word at the beginning of s.
func scan(s string) word {
	var text strings.Builder
	at := 0
	for at < len(s) && blank(s[at:]) == 0 {
		content, width := piece(s, at)
		text.WriteString(content)
		at += width
	}
	return word{raw: s[:at], text: text.String()}
}

// piece returns the meaning of the quoted part, the escaped character or the plain character
// at s[at:], and its width as typed.
func piece(s string, at int) (content string, width int) {
	switch s[at] {
	case '\\':
		if at+1 == len(s) {
			return `\`, 1
		}
		_, size := utf8.DecodeRuneInString(s[at+1:])
		return s[at+1 : at+1+size], 1 + size
	case '"':
		if end := closing(s, at); end > 0 {
			return escapes.Replace(s[at+1 : end]), end + 1 - at
		}
	case '\'':
		if end := closingApostrophe(s, at); end > 0 {
			return s[at+1 : end], end + 1 - at
		}
	case '`':
		if end := strings.IndexByte(s[at+1:], '`'); end >= 0 {
			return s[at : at+end+2], end + 2
		}
	}
	_, size := utf8.DecodeRuneInString(s[at:])
	return s[at : at+size], size
}

// escapes resolves backslashes between double quotes as a POSIX shell does.
var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "")

// closing returns the index of the double quote that closes the one at s[at]; 0 if there is
// none.
func closing(s string, at int) int {
	for i := at + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return 0
}

// closingApostrophe returns the index of the single quote that closes the one at s[at]; 0 if
// that one is an apostrophe or has no closing quote. A single quote after a letter does not
// open (don't, users'), and one before a letter does not close.
func closingApostrophe(s string, at int) int {
	if before, _ := utf8.DecodeLastRuneInString(s[:at]); inWord(before) {
		return 0
	}
	for i := at + 1; i < len(s); i++ {
		if s[i] == '\'' && !inWord(firstRune(s[i+1:])) {
			return i
		}
	}
	return 0
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// blank returns the width of the blank at the beginning of s; 0 if there is none. A line end
// after a backslash is a blank, since that is how people break long lines.
func blank(s string) int {
	if strings.HasPrefix(s, "\\\n") {
		return len("\\\n")
	}
	if r, size := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		return size
	}
	return 0
}
