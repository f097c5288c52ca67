package core

import (
	"strings"
	"unicode"
)

// goOnWords are texts that ask to go on with what is being done, and politeFillers the
// words around them that say no more.
var (
	goOnWords = map[string]bool{
		"": true, "continue": true, "go on": true, "go ahead": true, "go": true, "carry on": true, "keep going": true, "keep on": true, "keep working": true,
		"proceed": true, "resume": true, "next": true, "next step": true, "next steps": true, "more": true, "try again": true, "again": true,
	}
	politeFillers = map[string]bool{
		"please": true, "yes": true, "yeah": true, "yep": true, "ok": true, "okay": true, "sure": true, "good": true, "great": true, "fine": true, "thanks": true,
		"and": true, "then": true, "now": true, "just": true, "so": true, "with": true, "it": true, "that": true, "this": true, "the": true,
		"your": true, "work": true, "task": true, "do": true,
	}
)

// SaysGoOn reports whether a text, not a blank one, asks for nothing but to go on.
func SaysGoOn(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	var rest []string
	for _, word := range words {
		if !politeFillers[word] {
			rest = append(rest, word)
		}
	}
	return len(words) > 0 && goOnWords[strings.Join(rest, " ")]
}
