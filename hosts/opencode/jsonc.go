package opencode

import (
	"bytes"
	"regexp"
	"sync"
)

// comment matches a comment or a string: what looks like a comment in a string
// is text.
var comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/`) })

// trailing matches a comma before the end of a list or object, or a string.
var trailing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"|,\s*[}\]]`) })

// standardize turns JSON with comments and trailing commas, as OpenCode reads
// it, into JSON.
func standardize(jsonc []byte) []byte {
	plain := comment().ReplaceAllFunc(jsonc, func(found []byte) []byte {
		if found[0] == '/' {
			return []byte(" ")
		}
		return found
	})
	plain = trailing().ReplaceAllFunc(plain, func(found []byte) []byte {
		if found[0] == ',' {
			return found[1:]
		}
		return found
	})
	return bytes.TrimSpace(plain)
}
