package judge

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// literals returns texts in lower case of which each match of a pattern, in the syntax of
// package regexp, has at least one, or nothing where it cannot tell. It takes a small part
// of the time in which the pattern is compiled.
func literals(pattern string) []string {
	s := scanner{strings.ToLower(pattern)}
	found := s.alternatives()
	if s.rest != "" {
		return nil // a bracket too many
	}
	return found
}

// A scanner reads a pattern from its beginning.
type scanner struct{ rest string }

// alternatives reads up to the end of the group and returns what one of them has at least.
func (s *scanner) alternatives() (all []string) {
	known := true
	for {
		one := s.sequence()
		known = known && len(one) > 0
		all = append(all, one...)
		if !s.skip("|") {
			break
		}
	}
	if !known {
		return nil
	}
	return all
}

// sequence reads one alternative and returns what a text is least likely to have of all that
// a match must have: the longer texts, and the fewer.
func (s *scanner) sequence() (best []string) {
	var run []byte // characters that follow each other in each match
	end := func() {
		if len(run) > shortest(best) || len(run) > 0 && len(run) == shortest(best) && len(best) > 1 {
			best = []string{string(run)}
		}
		run = run[:0]
	}
	for s.rest != "" && s.rest[0] != '|' && s.rest[0] != ')' {
		part, text := s.item()
		repeated, optional := s.repeated()
		if !optional {
			run = append(run, text...)
		}
		if text == "" || repeated {
			end()
		}
		if !optional && (shortest(part) > shortest(best) || shortest(part) == shortest(best) && len(part) < len(best)) {
			best = part
		}
	}
	end()
	return best
}

// item reads one character, class, group or place: a group's literals, or a text.
func (s *scanner) item() (part []string, text string) {
	switch {
	case s.skip("("):
		if s.skip("?") {
			flags := strings.IndexAny(s.rest, ":)")
			if flags < 0 || s.rest[flags] == ')' { // it has no more than flags
				s.rest = s.rest[flags+1:]
				return nil, ""
			}
			s.rest = s.rest[flags+1:]
		}
		part = s.alternatives()
		s.skip(")")
		return part, ""
	case s.skip("["):
		for first := true; s.rest != "" && (first || s.rest[0] != ']'); first = false {
			s.take()
		}
		s.skip("]")
		return nil, ""
	}
	text = s.take()
	switch {
	case text == `\n`, text == `\t`, len(text) == 2 && text[0] == '\\' && isLetter(text[1]), strings.Contains("^$.", text):
		return nil, ""
	}
	return nil, strings.TrimPrefix(text, `\`)
}

// repeated reads what says how often the item before is there, and whether it may be
// missing.
func (s *scanner) repeated() (said, optional bool) {
	switch {
	case s.skip("?"), s.skip("*"):
		optional = true
	case s.skip("+"):
	case strings.HasPrefix(s.rest, "{"):
		optional = strings.HasPrefix(s.rest, "{0")
		_, s.rest, _ = strings.Cut(s.rest, "}")
	default:
		return false, false
	}
	s.skip("?")
	return true, optional
}

// take reads a character, or an escaped one.
func (s *scanner) take() string {
	_, size := utf8.DecodeRuneInString(s.rest)
	if s.rest[0] == '\\' && len(s.rest) > 1 {
		_, more := utf8.DecodeRuneInString(s.rest[1:])
		size += more
	}
	text := s.rest[:size]
	s.rest = s.rest[size:]
	return text
}

func (s *scanner) skip(text string) (there bool) {
	s.rest, there = strings.CutPrefix(s.rest, text)
	return there
}

// shortest returns the length of the shortest text; 0 without any.
func shortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}
