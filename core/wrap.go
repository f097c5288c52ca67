package core

import (
	"strings"
	"unicode/utf8"
)

// Wrap returns a text of one line as lines of at most width characters, broken
// between words; only a word that is longer is broken itself.
func Wrap(text string, width int) (lines []string) {
	width = max(1, width)
	line, used := strings.Builder{}, 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for _, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		if used > 0 && used+1+size > width {
			end()
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		for ; size > width; size -= width {
			cut := len(string([]rune(word)[:width]))
			line.WriteString(word[:cut])
			word = word[cut:]
			end()
		}
		line.WriteString(word)
		used += size
	}
	if used > 0 {
		end()
	}
	return lines
}
