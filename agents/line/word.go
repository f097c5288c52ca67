package line

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is what stands between two blanks that are not quoted.
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

// piece returns what the quoted part, the escaped or the plain character at s[at:]
// stands for, and its width as typed.
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

// escapes are what a backslash does between double quotes in a POSIX shell.
var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "")

// closing returns the place of the double quote that ends the one at s[at], 0 if
// there is none.
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

// closingApostrophe returns the place of the single quote that ends the one at
// s[at]; 0 if that is an apostrophe or has no fellow. One behind a letter opens
// nothing (don't, users'), one before a letter closes nothing.
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

// blank returns the width of the blank at the beginning of s, 0 if there is none.
// The end of a line behind a backslash is one: so long lines are broken.
func blank(s string) int {
	if strings.HasPrefix(s, "\\\n") {
		return len("\\\n")
	}
	if r, size := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		return size
	}
	return 0
}
