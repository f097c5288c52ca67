package claims

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/samber/lo"
)

// wordsFile holds all lists of words.
//
//go:embed words.txt
var wordsFile string

var lists = ReadLists(wordsFile)

// wordIn returns whether a list has a word.
func wordIn(list string) func(word string) bool {
	return func(word string) bool { return lists.Of(list).Has(word) }
}

// stemIn returns whether a list has a word with a stem.
func stemIn(list string) func(stem string) bool {
	return func(stemmed string) bool { return lists.Of(list).HasStem(stemmed, stem) }
}

// meaning returns what a list says that a word means; empty if it does not have the word.
func meaning(list, word string) string { return lists.Of(list).Meanings()[word] }

// stem returns the part of a lower-case word that its inflected forms share.
func stem(word string) string {
	word = strings.TrimSuffix(word, "'s")
	switch n := len(word); {
	case n > 4 && strings.HasSuffix(word, "ies"):
		word = word[:n-3] + "y"
	case n > 3 && strings.HasSuffix(word, "s") && !strings.ContainsAny(word[n-2:n-1], "sui"):
		word = word[:n-1]
	}
	switch n := len(word); {
	case n > 5 && strings.HasSuffix(word, "ing"):
		word = word[:n-3]
	case n > 4 && strings.HasSuffix(word, "ed"):
		word = word[:n-2]
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	if other := meaning("synonyms", word); other != "" {
		return other
	}
	return word
}

// stems returns the stems of words, sorted, without duplicates.
func stems(words []string) []string {
	list := lo.Map(words, func(word string, _ int) string { return stem(word) })
	slices.Sort(list)
	return slices.Compact(list)
}

// keyWords returns the stems of a subject. It splits names: maxConns, max_conns and "max conns"
// are equal.
func keyWords(text string) []string {
	all := splitWords(text)
	if telling := slices.DeleteFunc(slices.Clone(all), wordIn("fillers")); len(telling) > 0 {
		return stems(telling)
	}
	return stems(all)
}

// splitWords returns the words of a text in lower case, with names and numbers split.
func splitWords(text string) []string {
	return strings.FieldsFunc(strings.Join(Split(text), " "), func(r rune) bool { return strings.ContainsRune(" .,'", r) })
}

// An opposite is one word of a pair of opposites.
type opposite struct {
	about   string
	affirms bool
}

// opposites maps stems to their opposites.
var opposites = sync.OnceValue(func() map[string]opposite {
	m := map[string]opposite{}
	for _, pair := range lists.Of("opposites").Entries() {
		one, other, _ := strings.Cut(pair, " ")
		yes, no := stem(one), stem(other)
		if _, known := m[yes]; !known {
			m[yes] = opposite{yes, true}
		}
		if _, known := m[no]; !known {
			m[no] = opposite{m[yes].about, !m[yes].affirms}
		}
	}
	return m
})

// scales maps stems to the groups of words that exclude each other.
var scales = sync.OnceValue(func() map[string]string {
	return lo.MapKeys(lists.Of("scales").Meanings(), func(_, word string) string { return stem(word) })
})

// cutRough removes a word such as "about" before a number.
func cutRough(text string) (rest, how string) {
	lower := strings.ToLower(text)
	for word, how := range lists.Of("rough").Meanings() {
		rest, ok := strings.CutPrefix(lower, word)
		if ok && (strings.HasPrefix(rest, " ") || !unicode.IsLetter(rune(word[0]))) && !strings.HasPrefix(rest, "=") {
			return strings.TrimSpace(text[len(word):]), how
		}
	}
	return text, ""
}
