// Package line reads the raw line that stands behind a slash command: free text
// with options in it, as people type it ("Fix what isn't right --timeout 60").
// It knows how options are written, not what they mean.
package line

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"flame/core"
)

// An Option is one that a command knows.
type Option struct {
	Name   string // without the hyphens before it: "agent-type"
	Switch bool   // on or off; takes no word as its value, save true and false
}

// A Line is what was typed, taken apart.
type Line struct {
	Words  []string          // all that is no option, quotes and backslashes resolved
	Rest   string            // the same as typed: quotes, blanks and lines kept, options cut out
	Values map[string]string // by Option.Name; a switch's is "true" or "false"
}

// Parse takes text apart. Options are written --name value or --name=value, with
// hyphens or underscores inside the name, and anywhere up to a word "--"; quotes
// and backslashes work as in a shell. Three things are made for prose: an
// apostrophe inside a word and a quote without its fellow are text, and so is
// all that stands between backquotes, which stay. A word that looks like an
// option but is none, one given twice or without its value is a Problem.
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

// A parser goes through text once, word by word.
type parser struct {
	text    string
	options []Option
	at      int // where it stands in text
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
		case word.raw == endOfOptions:
			ended = true
		default:
			if err := p.option(word); err != nil {
				return err
			}
		}
	}
}

// next returns the word after the blanks where p stands; false at the end.
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

// option takes the option that word begins, its value included.
func (p *parser) option(w word) error {
	name, _, assigned := strings.Cut(w.raw, "=")
	known := slices.IndexFunc(p.options, func(o Option) bool { return o.Name == spelling(name) })
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

// value returns what option is set to: behind the "=" of its own word, or by the
// next one.
func (p *parser) value(option Option, w word, assigned bool) (string, error) {
	switch {
	case option.Switch && assigned:
		return onOff(option, afterEquals(w))
	case option.Switch:
		return p.switched(), nil
	case assigned && strings.HasSuffix(w.raw, "=") && afterEquals(w) == "":
		return "", missing(option)
	case assigned:
		return afterEquals(w), nil
	}
	next, ok := p.next()
	if !ok || optional(next.raw) {
		return "", missing(option)
	}
	return next.text, nil
}

// switched returns the value of a switch without "=". People also write
// "--background false", and would not notice that the word became text.
func (p *parser) switched() string {
	from := p.at
	if next, ok := p.next(); ok && (next.raw == "true" || next.raw == "false") {
		return next.raw
	}
	p.at = from
	return "true"
}

// unknown tells of an option that is none of those there are.
func (p *parser) unknown(name string) error {
	there := "there are none"
	if len(p.options) > 0 {
		names := make([]string, 0, len(p.options))
		for _, option := range p.options {
			names = append(names, "--"+option.Name)
		}
		there = "there are " + strings.Join(names, ", ")
	}
	return core.Invalidf("unknown option %s: %s", name, there).
		WithHint("if it is part of the text, put it in quotes, or put -- before the text")
}

// missing tells of an option without its value.
func missing(option Option) error {
	return core.Invalidf("option --%s has no value", option.Name).
		WithHint("write --%s VALUE, or --%s=VALUE if the value begins with hyphens", option.Name, option.Name)
}

// onOff reads the value of a switch.
func onOff(option Option, value string) (string, error) {
	on, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return "", core.Invalidf("option --%s is true or false, not %q", option.Name, value).
			WithHint("write --%s, or --%s=false", option.Name, option.Name)
	}
	return strconv.FormatBool(on), nil
}

// afterEquals returns the part of an option's word behind its first "=". Up to
// there the word has neither quotes nor backslashes, or it would be unknown.
func afterEquals(w word) string {
	_, value, _ := strings.Cut(w.text, "=")
	return value
}

// endOfOptions is the word after which all is text.
const endOfOptions = "--"

// optional reports whether a word as typed stands for an option or their end.
// One hyphen, or three, are prose or Markdown.
func optional(raw string) bool {
	name, ok := strings.CutPrefix(raw, "--")
	return ok && (name == "" || unicode.IsLetter(firstRune(name)))
}

// spelling returns the name of an option as typed in the one spelling it is kept by.
func spelling(raw string) string {
	return strings.ReplaceAll(strings.TrimPrefix(raw, "--"), "_", "-")
}
