package judge

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// An expression is a regular expression that is compiled when a text comes that may match:
// most processes of flame judge nothing, most texts match few of all, and hosts wait.
type expression struct {
	flags    string
	patterns []string // of which one is to match

	scanned sync.Once
	needs   []string // what each match has one of, in lower case; none if that is not known

	compiled sync.Once
	regex    *regexp.Regexp
}

// expressionOf matches what the pattern matches.
func expressionOf(pattern string) *expression { return &expression{patterns: []string{pattern}} }

// anyOf matches what one of the patterns matches, in upper or lower case.
func anyOf(patterns ...string) *expression { return &expression{flags: "(?i)", patterns: patterns} }

// may reports whether the text has what a match needs.
func (e *expression) may(text string) bool {
	e.scanned.Do(func() { e.needs = literals(e.pattern()) })
	if len(e.needs) == 0 || strings.ContainsAny(text, longS) {
		return true
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(e.needs, func(need string) bool { return strings.Contains(text, need) })
}

// longS is a letter that regular expressions take for an s, though it is in lower case.
const longS = "ſ"

func (e *expression) pattern() string { return e.flags + strings.Join(e.patterns, "|") }

func (e *expression) re() *regexp.Regexp {
	e.compiled.Do(func() { e.regex = regexp.MustCompile(e.pattern()) })
	return e.regex
}

// MatchString reports whether the text has a match.
func (e *expression) MatchString(text string) bool { return e.may(text) && e.re().MatchString(text) }

// FindString returns the first match; empty without one.
func (e *expression) FindString(text string) string {
	if !e.may(text) {
		return ""
	}
	return e.re().FindString(text)
}

// FindStringIndex returns where the first match is; nil without one.
func (e *expression) FindStringIndex(text string) []int {
	if !e.may(text) {
		return nil
	}
	return e.re().FindStringIndex(text)
}

// FindStringSubmatch returns the first match and its groups; nil without one.
func (e *expression) FindStringSubmatch(text string) []string {
	if !e.may(text) {
		return nil
	}
	return e.re().FindStringSubmatch(text)
}

// FindAllStringIndex returns where the first n matches are, or all if n is -1.
func (e *expression) FindAllStringIndex(text string, n int) [][]int {
	if !e.may(text) {
		return nil
	}
	return e.re().FindAllStringIndex(text, n)
}

// FindAllStringSubmatch returns the first n matches and their groups, or all if n is -1.
func (e *expression) FindAllStringSubmatch(text string, n int) [][]string {
	if !e.may(text) {
		return nil
	}
	return e.re().FindAllStringSubmatch(text, n)
}

// FindAllStringSubmatchIndex returns where the first n matches and their groups are, or all if n is -1.
func (e *expression) FindAllStringSubmatchIndex(text string, n int) [][]int {
	if !e.may(text) {
		return nil
	}
	return e.re().FindAllStringSubmatchIndex(text, n)
}

// ReplaceAllString replaces all matches.
func (e *expression) ReplaceAllString(text, with string) string {
	if !e.may(text) {
		return text
	}
	return e.re().ReplaceAllString(text, with)
}

// Split returns the texts between matches.
func (e *expression) Split(text string, n int) []string {
	if !e.may(text) {
		return []string{text}
	}
	return e.re().Split(text, n)
}
