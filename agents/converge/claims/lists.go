package claims

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Lists are the lists of words and phrases of a file by their names. This package
// has one. A list begins with its name in brackets, after
// which the line may say what it is for; a line that begins with // ends it.
type Lists func() map[string]*List

// A List is a list of phrases, or of words with their meanings. It parses them at the first
// lookup: most processes of flame judge and compare nothing, and hosts wait for them.
type List struct {
	text    string
	file    Lists // with the lists that its phrases name
	phrases func() map[string][]phrase
	stems   sync.Once
	stemmed map[string]bool

	// Meanings returns the meanings of the words in lines of the form "meaning: word, word".
	Meanings func() map[string]string
}

// ReadLists returns the lists of a file.
func ReadLists(file string) (lists Lists) {
	lists = sync.OnceValue(func() map[string]*List {
		all := map[string]*List{}
		for section := range strings.SplitSeq(file, "\n[") {
			name, rest, found := strings.Cut(section, "]")
			if _, text, ok := strings.Cut(rest, "\n"); found && ok {
				text, _, _ = strings.Cut(text, "\n//")
				l := &List{text: strings.TrimSpace(text), file: lists}
				l.phrases, l.Meanings = sync.OnceValue(l.readPhrases), sync.OnceValue(l.readMeanings)
				all[name] = l
			}
		}
		return all
	})
	return lists
}

// Of returns the list of that name. It panics if the file has no such list, because names are
// constants of the program.
func (lists Lists) Of(name string) *List {
	if l := lists()[name]; l != nil {
		return l
	}
	panic("there is no list of words " + name)
}

// Lines returns the lines of the list.
func (l *List) Lines() []string { return strings.Split(l.text, "\n") }

// Entries returns the phrases as the file has them.
func (l *List) Entries() []string {
	all := strings.FieldsFunc(l.text, func(r rune) bool { return r == ',' || r == '\n' })
	for i, entry := range all {
		all[i] = strings.TrimSpace(entry)
	}
	return all
}

func (l *List) readMeanings() map[string]string {
	all := map[string]string{}
	for _, line := range l.Lines() {
		meaning, words, _ := strings.Cut(line, ": ")
		for word := range strings.SplitSeq(words, ",") {
			all[strings.TrimSpace(word)] = meaning
		}
	}
	return all
}

// HasStem reports whether the list has a word with that stem. stem must be the same function
// in all calls.
func (l *List) HasStem(stemmed string, stem func(word string) string) bool {
	l.stems.Do(func() {
		l.stemmed = map[string]bool{}
		for _, entry := range l.Entries() {
			l.stemmed[stem(entry)] = true
		}
	})
	return l.stemmed[stemmed]
}

// Split returns the words of a text in lower case.
func Split(text string) (words []string) {
	for text != "" {
		size := wordSize(text)
		if size > 0 {
			words = append(words, lower(text[:size]))
		} else {
			_, size = utf8.DecodeRuneInString(text)
		}
		text = text[size:]
	}
	return words
}

// lower returns a word in lower case, with a plain apostrophe.
func lower(word string) string { return strings.ToLower(strings.ReplaceAll(word, "’", "'")) }

// wordSize returns the length in bytes of the word or number with which the text begins; 0 if it
// begins with none. A word ends where a capital follows a small letter.
func wordSize(text string) int {
	size, last := 0, ' '
	for i, r := range text {
		inner := size > 0 && i == size
		next := i + utf8.RuneLen(r)
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(last):
			return size
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			size = next
		case inner && (r == '\'' || r == '’') && next < len(text) && isLetter(text[next]),
			inner && (r == '.' || r == ',') && isDigit(text[i-1]) && next < len(text) && isDigit(text[next]):
			size = next
		default:
			return size
		}
		last = r
	}
	return size
}


func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
