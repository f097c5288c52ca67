package claims

import "strings"

// A phrase is a sequence of gapTokens that match words of a sentence. words.txt says how
// phrases are written.
type phrase struct {
	gapTokens     []gapToken
	start, end bool // it matches only at the start of the sentence, or at its end
}

// A gapToken matches one word by its alternatives ("word", "wor~", "#", "_"), or up to gap words.
type gapToken struct {
	words []string
	gap   int
}

// gaps is how many words a star matches at most, and how many two stars match.
var gaps = map[string]int{"*": 4, "**": 1 << 10}

func (l *List) readPhrases() map[string][]phrase {
	all := map[string][]phrase{}
	for _, entry := range l.Entries() {
		if p := l.readPhrase(strings.Fields(entry)); len(p.gapTokens) > 0 {
			for _, word := range p.gapTokens[0].words {
				all[letters(word)] = append(all[letters(word)], p)
			}
		}
	}
	return all
}

func (l *List) readPhrase(fields []string) (p phrase) {
	for _, field := range fields {
		switch field {
		case "^":
			p.start = true
		case "$":
			p.end = true
		default:
			t := gapToken{gap: gaps[field]}
			for word := range strings.SplitSeq(field, "|") {
				if name, ok := strings.CutPrefix(word, "@"); ok {
					t.words = append(t.words, l.file.Of(name).Entries()...)
				} else {
					t.words = append(t.words, word)
				}
			}
			p.gapTokens = append(p.gapTokens, t)
		}
	}
	return p
}

// letters returns the key of a word among phrases: its first letters.
func letters(word string) string {
	word = strings.TrimSuffix(word, "~")
	if word != "" && isDigit(word[0]) {
		return "#"
	}
	return word[:min(3, len(word))]
}

// matches reports whether the gapToken matches the word.
func (t gapToken) matches(word string) bool {
	for _, pattern := range t.words {
		stem, open := strings.CutSuffix(pattern, "~")
		if pattern == word || pattern == "_" || pattern == "#" && isDigit(word[0]) || open && strings.HasPrefix(word, stem) {
			return true
		}
	}
	return false
}

// taken returns how many words the gapTokens match, starting at the first word; -1 if they do not
// match there.
func (p phrase) taken(words []string, gapTokens []gapToken) int {
	if len(gapTokens) == 0 {
		if p.end && len(words) > 0 {
			return -1
		}
		return 0
	}
	skip := 0
	if gapTokens[0].gap == 0 {
		if len(words) == 0 || !gapTokens[0].matches(words[0]) {
			return -1
		}
		skip = 1
	}
	for gap := range min(gapTokens[0].gap, len(words)-skip) + 1 {
		if n := p.taken(words[skip+gap:], gapTokens[1:]); n >= 0 {
			return skip + gap + n
		}
	}
	return -1
}

// Begin returns the number of words of the longest phrase that begins with the first word; 0 without
// such a phrase.
func (l *List) Begin(words []string) (most int) {
	if len(words) == 0 {
		return 0
	}
	for _, key := range []string{letters(words[0]), "#", "_"} {
		for _, p := range l.phrases()[key] {
			most = max(most, p.taken(words, p.gapTokens))
		}
	}
	return most
}

// Find returns the indexes of the first word of the first phrase and of the word behind it; 0, 0
// without a phrase.
func (l *List) Find(words []string) (from, to int) {
	phrases := l.phrases()
	for i, word := range words {
		for _, key := range []string{letters(word), "_"} {
			for _, p := range phrases[key] {
				if i > 0 && p.start {
					continue
				}
				if n := p.taken(words[i:], p.gapTokens); n > 0 {
					return i, i + n
				}
			}
		}
	}
	return 0, 0
}

// Has reports whether the words contain a phrase.
func (l *List) Has(words ...string) bool {
	_, to := l.Find(words)
	return to > 0
}
