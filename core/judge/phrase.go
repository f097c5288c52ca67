package judge

import "strings"

// A phrase is a sequence of tokens that match words of a sentence. words.txt says how
// phrases are written.
type phrase struct {
	tokens     []token
	start, end bool // it matches only at the start of the sentence, or at its end
}

// A token matches one word by its alternatives ("word", "wor~", "#", "_"), or up to gap words.
type token struct {
	words []string
	gap   int
}

// gaps is how many words a star matches at most, and how many two stars match.
var gaps = map[string]int{"*": 4, "**": 1 << 10}

func (l *List) readPhrases() map[string][]phrase {
	all := map[string][]phrase{}
	for _, entry := range l.Entries() {
		if p := l.readPhrase(strings.Fields(entry)); len(p.tokens) > 0 {
			for _, word := range p.tokens[0].words {
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
			t := token{gap: gaps[field]}
			for word := range strings.SplitSeq(field, "|") {
				if name, ok := strings.CutPrefix(word, "@"); ok {
					t.words = append(t.words, l.file.Of(name).Entries()...)
				} else {
					t.words = append(t.words, word)
				}
			}
			p.tokens = append(p.tokens, t)
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

// matches reports whether the token matches the word.
func (t token) matches(word string) bool {
	for _, pattern := range t.words {
		stem, open := strings.CutSuffix(pattern, "~")
		if pattern == word || pattern == "_" || pattern == "#" && isDigit(word[0]) || open && strings.HasPrefix(word, stem) {
			return true
		}
	}
	return false
}

// taken returns how many words the tokens match, starting at the first word; -1 if they do not
// match there.
func (p phrase) taken(words []string, tokens []token) int {
	if len(tokens) == 0 {
		if p.end && len(words) > 0 {
			return -1
		}
		return 0
	}
	skip := 0
	if tokens[0].gap == 0 {
		if len(words) == 0 || !tokens[0].matches(words[0]) {
			return -1
		}
		skip = 1
	}
	for gap := range min(tokens[0].gap, len(words)-skip) + 1 {
		if n := p.taken(words[skip+gap:], tokens[1:]); n >= 0 {
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
			most = max(most, p.taken(words, p.tokens))
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
				if n := p.taken(words[i:], p.tokens); n > 0 {
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
