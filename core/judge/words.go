package judge

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// head returns at most max bytes from the beginning of s, with valid characters only.
func head(s string, max int) string {
	if len(s) > max {
		s = s[:max]
	}
	return strings.ToValidUTF8(s, " ")
}

// stems returns the words of s that say what it is about, each once, in order of first
// appearance. A word is cut down to its stem, so that "deploying" and "deployment" are one.
// Paths and identifiers come apart: "src/userList.ts" has src, user, list.
func stems(s string) []string {
	var list []string
	seen := map[string]bool{}
	for _, word := range wordsOf(s) {
		if utf8.RuneCountInString(word) < minStem || emptyWords.has(word) || number(word) {
			continue
		}
		if stem := stemOf(word); !seen[stem] {
			seen[stem] = true
			list = append(list, stem)
		}
	}
	return list
}

// minStem and maxStem bound a stem, in characters.
const (
	minStem = 3
	maxStem = 6
)

// wordsOf returns the words of s in lower case: runs of letters and digits, which end
// where a capital follows a small letter.
func wordsOf(s string) []string {
	var words []string
	from, last := -1, ' '
	for i, r := range s {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' && from >= 0
		if from >= 0 && (!inWord || unicode.IsUpper(r) && unicode.IsLower(last)) {
			words, from = append(words, strings.ToLower(strings.TrimRight(s[from:i], "'"))), -1
		}
		if inWord && from < 0 {
			from = i
		}
		last = r
	}
	if from >= 0 {
		words = append(words, strings.ToLower(strings.TrimRight(s[from:], "'")))
	}
	return words
}

// endings are what English words get at their end; the longest come first.
var endings = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ers", "ies", "ed", "er", "es", "'s", "s", "e", "y"}

// stemOf returns the stem of a word in lower case: without an ending, and of a long word
// the beginning, as other languages have other endings.
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
	count := 0
	for i := range word {
		if count++; count > maxStem {
			return word[:i]
		}
	}
	return word
}

func number(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
}

// A words is a set of words, made when it is first asked, as expressions are.
type words struct {
	text string
	as   func(word string) string // what is kept of a word; nil: the word
	once sync.Once
	set  map[string]bool
}

func (w *words) has(word string) bool {
	w.once.Do(w.read)
	return w.set[word]
}

func (w *words) read() {
	w.set = map[string]bool{}
	for word := range strings.FieldsSeq(w.text) {
		if w.as != nil {
			word = w.as(word)
		}
		w.set[word] = true
	}
}

// wordSet makes a set of the words of a text.
func wordSet(text string) *words { return &words{text: text} }

// known returns those of the stems that are among others.
func known(stems, others []string) (list []string) {
	for _, stem := range stems {
		if slices.Contains(others, stem) {
			list = append(list, stem)
		}
	}
	return list
}

// emptyWords say nothing of what a text is about: those that join and point, and those
// that any work is talked about with.
var emptyWords = wordSet(`
	the a an and or but nor so yet if then else than that this these those there here it its it's i'm i'd i'll i've you your you're he
	him his she her hers they them their theirs we us our ours me my mine i who whom whose which what when where why how in on at to
	for of off with without by from as is isn't was wasn't are aren't were be been being am have has had having do does did don't
	doesn't didn't will won't would could couldn't should shouldn't may might must can can't cannot shall need needs needed want wants
	wanted like let let's lets get gets got give please plz pls now next first last later again also too just only even still already
	always never not no yes yeah yep ok okay sure good great fine nice perfect cool super thanks thank thx done well very much many
	more most some any all each every both few less one two three other others another same such into onto out over under up down
	about after before while until since between through during against because make makes made put take takes look looks see seems go
	goes going work works thing things something anything nothing everything way bit lot new really quite rather instead think know
	mean guess say says said tell show back right left today yesterday tomorrow time hour hours minute minutes day week moment und oder aber der die das den dem
	des ein eine einen einem einer ist sind war nicht auch noch mit von für auf aus bei nach vor zum zur als wie wenn dass ich du er
	sie wir ihr mir mich uns bitte jetzt dann schon nur mal hier haben hat kann muss soll wird werden les des une est sont pas aussi
	avec pour dans sur par que qui quoi quand nous vous ils elle mon ton son notre votre maintenant puis oui los las una con para por
	del está esto esta ahora que como también sí già poi con per che una adesso anche`)
