package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"flame/config/env"
	"flame/core"
	"flame/local/place"
)

// minToken is the least number of characters of a token: others could guess shorter ones.
const minToken = 16

// flawOf returns the flaw of a token; empty if it has none.
func flawOf(token string) string {
	switch {
	case token == "":
		return "is empty"
	case strings.ContainsFunc(token, func(c rune) bool { return c == ' ' || !unicode.IsPrint(c) }):
		return "has blanks or control characters"
	case utf8.RuneCountInString(token) < minToken:
		return fmt.Sprintf("has fewer than %d characters", minToken)
	}
	return ""
}

// LoadToken returns the token in the file at path, whose folder must exist. Without the
// file it makes a token; servers that start at the same time get the same one. It refuses
// a file that others may write or read.
func LoadToken(path string) (string, error) {
	token, err := place.KeptSecret(path)
	if flaw := flawOf(token); err == nil && flaw != "" {
		err = fmt.Errorf("the token in %s %s", path, flaw)
	}
	if err != nil {
		return "", core.Unavailablef(err, "flame cannot use the stored token: %v", err).
			WithHint("delete that file, and flame makes a new token; or set " + env.HTTPToken)
	}
	return token, nil
}
