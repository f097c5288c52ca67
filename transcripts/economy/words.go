package economy

import (
	"hash/maphash"
	"strings"
	"unicode"
)

// words finds out which outputs an answer uses: the newest that has a rare word of it.
type words struct {
	seed  maphash.Seed
	known map[uint64]origin
}

// An origin is where a word was seen.
type origin struct {
	item int32 // the newest output that has it; -1: the user, or the host, said it
	seen uint8 // in how many texts, at most common
}

// The limits of words.
const (
	shortest = 6         // a word with fewer bytes is too common to be evidence
	longest  = 100       // a word with more is data
	common   = 4         // a word in that many texts is no evidence
	perText  = 500       // words of a text that are kept
	inAll    = 4_000_000 // words that are kept
)

func newWords() words { return words{seed: maphash.MakeSeed(), known: map[uint64]origin{}} }

// learn notes the words of a text: an output, or -1 for one that is none.
func (w words) learn(text string, output int) {
	left := perText
	for word := range strings.FieldsFuncSeq(text, between) {
		if len(word) < shortest || len(word) > longest {
			continue
		}
		hash := maphash.String(w.seed, word)
		from, known := w.known[hash]
		switch {
		case !known && len(w.known) >= inAll, known && (from.item < 0 || from.seen >= common || int(from.item) == output):
			continue
		}
		w.known[hash] = origin{int32(output), from.seen + 1}
		if left--; left == 0 {
			return
		}
	}
}

// used calls use with each output that a text of the model uses.
func (w words) used(text string, use func(output int)) {
	for word := range strings.FieldsFuncSeq(text, between) {
		if len(word) < shortest || len(word) > longest {
			continue
		}
		if from := w.known[maphash.String(w.seed, word)]; from.seen > 0 && from.seen < common && from.item >= 0 {
			use(int(from.item))
		}
	}
}

func between(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
