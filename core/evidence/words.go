package evidence

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// wordsFile holds all lists of words.
//
//go:embed words.txt
var wordsFile string

// lists returns the lists of words by their names. They are parsed at the first use: most processes of flame judge
// nothing.
var lists = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for section := range strings.SplitSeq(wordsFile, "\n[") {
		name, rest, _ := strings.Cut(section, "]")
		_, text, _ := strings.Cut(rest, "\n")
		all[name] = lo.Map(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }), func(entry string, _ int) string {
			return strings.TrimSpace(entry)
		})
	}
	return all
})

// sets are the lists for lookups of single words.
var sets = sync.OnceValue(func() map[string]map[string]struct{} {
	return lo.MapValues(lists(), func(list []string, _ string) map[string]struct{} { return lo.Keyify(list) })
})

// has reports whether a list has the word or phrase.
func has(list, entry string) bool {
	_, found := sets()[list][entry]
	return found
}

// begins reports whether words begin with an entry of the list.
func begins(list string, words []string) bool {
	text := strings.Join(words, " ") + " "
	return slices.ContainsFunc(lists()[list], func(entry string) bool { return strings.HasPrefix(text, entry+" ") })
}

// phrase returns the first entry of the list that a text contains, with whole words; empty without one.
func phrase(list, text string) string {
	said := " " + strings.Join(words(text), " ") + " "
	entry, _ := lo.Find(lists()[list], func(entry string) bool { return strings.Contains(said, " "+entry+" ") })
	return entry
}

// words returns the words of a text in lower case, with plain apostrophes.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return strings.ContainsRune(" \t\r\n.,:;!?()[]{}\"*_`/|<>=+…–—", r)
	})
}

// sentence is a part of a text that ends with a mark or a line end.
var sentenceEnd = core.Pattern(`[.!?;:]+(\s|$)|\n|\s[-–—]\s|, `)

// clauses returns the parts of a text between marks and line ends.
func clauses(text string) (parts []string) {
	for _, part := range sentenceEnd().Split(text, maxItems) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

var (
	wholeSentence = core.Pattern(`[.!?;]+(\s|$)|\n`)

	// reason matches a clause that gives one with a word too common to be listed.
	reason = core.Pattern(`, (as|so|for) (the|a|an|it|this|that|there|we|they|its|no) `)

	// exact matches figures and names of code, which other words lose.
	exact = core.Pattern("\\d\\d|\\d ?%|0x|`[^`]+`|\\w/\\w|\\w\\w\\.[a-z]\\w{0,3}\\b|\\w_\\w|[a-z][A-Z]|\\b[A-Z]{3,}\\b|(^|\\s)--\\w")
)

// A Sentence is one of an agent's text.
type Sentence struct {
	Text   string
	Weight int // how likely it is needed when its work is over
}

// KeySentences returns the sentences of an agent's text that may be needed when its work is over: those with
// decisions, reasons, failed ways, open questions or promises, and those with figures or names. It leaves out
// what the agent announces to do next.
func KeySentences(text string) (all []Sentence) {
	for _, sentence := range wholeSentence().Split(text, maxItems) {
		s := Sentence{Text: strings.TrimSpace(sentence)}
		if phrase("lasting", sentence) != "" || reason().MatchString(sentence) {
			s.Weight = 2
		}
		if exact().MatchString(sentence) {
			s.Weight++
		}
		if s.Weight > 0 && !(begins("announcing", words(sentence)) && phrase("later", sentence) == "") {
			all = append(all, s)
		}
	}
	return all
}

// stems returns the beginnings of the words that say what a text is about: "deploying" and "deployment" have one.
func stems(text string) []string {
	about := lo.Reject(core.Keywords(text), func(word string, _ int) bool { return has("everyday", word) || has("work", word) })
	return lo.Uniq(lo.Map(about, func(word string, _ int) string { return stem(word) }))
}

const stemSize = 5

func stem(word string) string {
	if utf8.RuneCountInString(word) <= stemSize {
		word = strings.TrimSuffix(word, "s")
	}
	return core.Head(word, stemSize)
}

// begin returns at most max bytes of s, with valid characters only.
func begin(s string, max int) string { return strings.ToValidUTF8(s[:min(len(s), max)], "") }

// end is begin for the end of s.
func end(s string, max int) string { return strings.ToValidUTF8(s[len(s)-min(len(s), max):], "") }
