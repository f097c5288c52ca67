package judge

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// wordsFile holds all lists of words. Its head says how phrases are written.
//
//go:embed words.txt
var wordsFile string

var lists = ReadLists(wordsFile)

// list returns the list of that name in words.txt.
func list(name string) *List { return lists.Of(name) }

// stemIn returns whether a list has a word with a stem.
func stemIn(name string) func(stem string) bool {
	return func(stem string) bool { return list(name).HasStem(stem, stemOf) }
}

// has reports whether the sentence contains a phrase of the list.
func (s sentence) has(name string) bool { return list(name).Has(s.words...) }

// anyHas reports whether one of the sentences contains a phrase of the list.
func anyHas(said []sentence, name string) bool {
	return slices.ContainsFunc(said, func(s sentence) bool { return s.has(name) })
}

// How much flame reads, in bytes: the beginning and the end of a long text, because its outcome
// stands first or last; of a prompt and the messages before it, the beginning.
const (
	readHead = 1 << 10
	readTail = 5 << 10
	maxText  = 4000
)

// bounded returns the text, or the beginning and the end of a long one.
func bounded(text string) string {
	if len(text) <= readHead+readTail {
		return text
	}
	return strings.ToValidUTF8(text[:readHead]+"\n"+text[len(text)-readTail:], "")
}

// head returns at most max bytes from the beginning of s, with valid characters only.
func head(s string, max int) string { return strings.ToValidUTF8(s[:min(len(s), max)], " ") }

// A sentence is a sentence of a text, or a line of it that ends without a mark.
type sentence struct {
	text  string   // as it was written
	words []string // in lower case, without marks; decimal numbers in one piece
	at    []int    // where each word begins in the text
	asks  bool     // it ends with a question mark
}

// statements returns the sentences of an agent's text. A colon ends a sentence. It leaves out
// code, whose words say nothing about the work.
func statements(text string) []sentence { return sentences(withoutCode(bounded(text)), ":") }

// sentences splits a text. The marks end a sentence too, beside the usual ones.
func sentences(text, marks string) (list []sentence) {
	var s sentence
	from := 0
	end := func(to int) {
		if len(s.words) > 0 {
			s.text = text[from:to]
			list = append(list, s)
		}
		s, from = sentence{}, to
	}
	for i := 0; i < len(text); {
		if size := wordSize(text[i:]); size > 0 {
			s.words = append(s.words, lower(text[i:i+size]))
			s.at = append(s.at, i-from)
			i += size
			continue
		}
		mark, size := utf8.DecodeRuneInString(text[i:])
		after := text[i+size:]
		ends := after == "" || strings.IndexByte(" \n\"')*_", after[0]) >= 0
		switch {
		case mark == '\n', mark == ';', mark == '。', mark == '！', mark == '？', ends && (strings.ContainsRune(".!?…", mark) || strings.ContainsRune(marks, mark)),
			strings.ContainsRune("-–—", mark) && strings.HasPrefix(after, " ") && i > from && text[i-1] == ' ':
			s.asks = mark == '?' || mark == '？'
			end(i)
			from = i + size
		}
		i += size
	}
	end(len(text))
	return list
}

// from returns the sentence without its first words.
func (s sentence) from(n int) sentence {
	if n >= len(s.words) {
		return sentence{asks: s.asks}
	}
	cut := s.at[n]
	rest := sentence{text: s.text[cut:], words: s.words[n:], asks: s.asks, at: slices.Clone(s.at[n:])}
	for i := range rest.at {
		rest.at[i] -= cut
	}
	return rest
}

// upTo returns the sentence without the words from the n-th on.
func (s sentence) upTo(n int) sentence {
	return sentence{text: strings.TrimRight(s.text[:s.at[n]], " ,"), words: s.words[:n], at: s.at[:n]}
}

// commaBefore reports whether a comma stands before the n-th word.
func (s sentence) commaBefore(n int) bool {
	return n > 0 && n < len(s.words) && strings.Contains(s.text[s.at[n-1]:s.at[n]], ", ")
}

// inBackquotes matches code between backquotes.
var inBackquotes = core.Pattern("`[^`]*`")

// withoutCode replaces code between backquotes with spaces.
func withoutCode(text string) string {
	return strings.ReplaceAll(inBackquotes().ReplaceAllString(text, "  "), "`", " ")
}

// stems returns the stems of the words that say what a text is about, each once, in order of
// first appearance. "deploying" and "deployment" have one stem.
func stems(text string) (found []string) {
	seen := map[string]bool{}
	for _, word := range Split(text) {
		if stem := stemOf(word); utf8.RuneCountInString(word) >= minStem && strings.ContainsFunc(word, unicode.IsLetter) && !seen[stem] && !list("empty").Has(word) {
			seen[stem] = true
			found = append(found, stem)
		}
	}
	return found
}

// minStem and maxStem bound a stem, in characters.
const (
	minStem = 3
	maxStem = 6
)

// endings are English suffixes. A suffix stands before any shorter one that it ends with.
var endings = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ers", "ies", "ed", "er", "es", "'s", "s", "e", "y"}

// stemOf returns the stem of a word in lower case: the word without its English suffix, and at
// most maxStem characters, because other languages have other suffixes.
func stemOf(word string) string {
	for _, ending := range endings {
		if rest, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(rest) >= minStem {
			word = rest
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && word[n-1] < utf8.RuneSelf {
		word = word[:n-1] // stopped, stopping: stop
	}
	return core.Head(word, maxStem)
}

// weightOf adds up how much the stems say about a text's subject. Words common to all projects
// count less.
func weightOf(stems []string) float64 {
	return lo.SumBy(stems, func(stem string) float64 { return lo.Ternary(stemIn("everyday")(stem), 0.4, 1) })
}

// maxLatest is how many of the latest items of a list flame compares a text with.
const maxLatest = 40

// latest returns the last ones of a list.
func latest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }
