package judge

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A statement is a sentence of a text, or a line of it that ends without a mark.
type statement struct {
	words []string // in lower case, without marks; decimal numbers in one piece
	asks  bool     // it ends with a question mark
}

// How much of a text is read, in bytes: what a long one says about its end stands first
// or last.
const (
	readHead = 1 << 10
	readTail = 5 << 10
)

// bounded returns the text, or the beginning and the end of a long one.
func bounded(text string) string {
	if len(text) <= readHead+readTail {
		return text
	}
	return strings.ToValidUTF8(text[:readHead]+"\n"+text[len(text)-readTail:], "")
}

// statements splits a text. Code is left out: what stands there is not said.
func statements(text string) (list []statement) {
	var words []string
	end := func(asks bool) {
		if len(words) > 0 {
			list = append(list, statement{words, asks})
			words = nil
		}
	}
	text = strings.ToLower(withoutCode(bounded(text)))
	for text != "" {
		size := wordSize(text)
		if size > 0 {
			words = append(words, strings.ReplaceAll(text[:size], "’", "'"))
			text = text[size:]
			continue
		}
		switch mark := text[0]; {
		case mark == '\n', mark == ';':
			end(false)
		case strings.IndexByte(".!?:", mark) >= 0 && (len(text) == 1 || strings.IndexByte(" \n\"')*_", text[1]) >= 0):
			end(mark == '?')
		}
		text = text[1:]
	}
	end(false)
	return list
}

// wordSize returns the length in bytes of the word or number with which the text
// begins; 0 if it begins with none.
func wordSize(text string) int {
	size := 0
	for i, r := range text {
		inner := size > 0 && i == size
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			size = i + len(string(r))
		case inner && (r == '\'' || r == '’'):
			if next := i + len(string(r)); next < len(text) && isLetter(text[next]) {
				size = next
				continue
			}
			return size
		case inner && (r == '.' || r == ',') && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1]):
			size = i + 1
		default:
			return size
		}
	}
	return size
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

// withoutCode replaces what stands between backticks.
func withoutCode(text string) string {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // the last one opens nothing
		parts[len(parts)-2] += " " + parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString(parts[i])
		b.WriteString(" … ")
	}
	return b.String()
}

// A lexicon is a set of phrases. It is made when it is first looked into, as expressions
// are.
type lexicon struct {
	text    string
	once    sync.Once
	phrases map[string][][]string // by the first letters of their first words
}

func (l *lexicon) read() map[string][][]string {
	l.once.Do(func() { l.phrases = readPhrases(l.text) })
	return l.phrases
}

// maxGap is the number of words that a star in a phrase stands for at most.
const maxGap = 4

// phrases reads a lexicon: phrases between commas or on lines of their own. In a phrase
// "word~" stands for all words that begin so, "#" for a number, and "*" for a few words
// of any kind.
func phrases(text string) *lexicon { return &lexicon{text: text} }

func readPhrases(text string) map[string][][]string {
	l := map[string][][]string{}
	for phrase := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		words := strings.Fields(phrase)
		if len(words) > 0 {
			key := letters(words[0])
			l[key] = append(l[key], words)
		}
	}
	return l
}

// letters returns the key of a word in a lexicon.
func letters(word string) string {
	word = strings.TrimSuffix(word, "~")
	if word != "" && isDigit(word[0]) {
		return "#"
	}
	return word[:min(3, len(word))]
}

// find returns the first phrase in the words as it stands there; empty if there is none.
func (l *lexicon) find(words []string) string {
	phrases := l.read()
	for i, word := range words {
		for _, key := range []string{letters(word), "#"} {
			for _, phrase := range phrases[key] {
				if n := begins(words[i:], phrase); n > 0 {
					return strings.Join(words[i:i+n], " ")
				}
			}
		}
	}
	return ""
}

// in returns the first phrase in one of the sentences, unless a phrase of except stands
// in the same one.
func (l *lexicon) in(said []statement, except *lexicon) string {
	for _, s := range said {
		if found := l.find(s.words); found != "" && (except == nil || except.find(s.words) == "") {
			return found
		}
	}
	return ""
}

// begins returns how many of the words the phrase takes from the first on; 0 if it does
// not stand there.
func begins(words, phrase []string) int {
	if len(phrase) == 0 {
		return 0
	}
	if phrase[0] == "*" {
		for gap := range min(maxGap, len(words)) + 1 {
			if n := begins(words[gap:], phrase[1:]); n > 0 {
				return gap + n
			}
		}
		return 0
	}
	if len(words) == 0 || !matches(words[0], phrase[0]) {
		return 0
	}
	if len(phrase) == 1 {
		return 1
	}
	if n := begins(words[1:], phrase[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

func matches(word, pattern string) bool {
	if pattern == "#" {
		return isDigit(word[0])
	}
	stem, open := strings.CutSuffix(pattern, "~")
	return word == stem || open && strings.HasPrefix(word, stem)
}

// has reports whether one of the words stands in the sentence.
func (s statement) has(words ...string) bool {
	return slices.ContainsFunc(s.words, func(w string) bool { return slices.Contains(words, w) })
}

// begin reports whether the words begin with a phrase.
func (l *lexicon) begin(words []string) bool {
	return len(words) > 0 && slices.ContainsFunc(l.read()[letters(words[0])], func(phrase []string) bool { return begins(words, phrase) > 0 })
}
