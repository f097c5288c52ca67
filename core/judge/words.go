package judge

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// wordsFile holds all lists of words. Its head says how phrases are written.
//
//go:embed words.txt
var wordsFile string

// A lexicon is a list of phrases. It parses them at the first lookup: most processes of flame
// judge nothing, and hosts wait for them.
type lexicon struct {
	text    string
	once    sync.Once
	phrases map[string][]phrase // by the first letters of their first words

	stemmed sync.Once
	stems   map[string]bool
}

// A phrase is a sequence of tokens that match words of a sentence.
type phrase struct {
	tokens     []token
	start, end bool // it matches only at the start of the sentence, or at its end
}

// A token matches one word by its alternatives ("word", "wor~", "#", "_"), or up to gap words.
type token struct {
	words []string
	gap   int
}

// maxGap is how many words one star matches at most, maxGaps how many two stars match.
const (
	maxGap  = 4
	maxGaps = 1 << 10
)

var lists = sync.OnceValue(func() map[string]*lexicon {
	all := map[string]*lexicon{}
	for section := range strings.SplitSeq(wordsFile, "\n[") {
		name, rest, found := strings.Cut(section, "]")
		if _, text, ok := strings.Cut(rest, "\n"); found && ok {
			text, _, _ = strings.Cut(text, "\n//")
			all[name] = &lexicon{text: text}
		}
	}
	return all
})

// list returns the list of that name. It panics if words.txt has no such list, because names
// are constants of the program.
func list(name string) *lexicon {
	if l := lists()[name]; l != nil {
		return l
	}
	panic("words.txt has no list " + name)
}

// entries returns the phrases as words.txt has them.
func (l *lexicon) entries() []string {
	return strings.FieldsFunc(l.text, func(r rune) bool { return r == ',' || r == '\n' })
}

func (l *lexicon) read() map[string][]phrase {
	l.once.Do(func() {
		l.phrases = map[string][]phrase{}
		for _, entry := range l.entries() {
			if p := readPhrase(strings.Fields(entry)); len(p.tokens) > 0 {
				for _, word := range p.tokens[0].words {
					l.phrases[letters(word)] = append(l.phrases[letters(word)], p)
				}
			}
		}
	})
	return l.phrases
}

func readPhrase(fields []string) (p phrase) {
	for _, field := range fields {
		switch field {
		case "^":
			p.start = true
		case "$":
			p.end = true
		case "*":
			p.tokens = append(p.tokens, token{gap: maxGap})
		case "**":
			p.tokens = append(p.tokens, token{gap: maxGaps})
		default:
			p.tokens = append(p.tokens, readToken(field))
		}
	}
	return p
}

func readToken(field string) (t token) {
	for word := range strings.SplitSeq(field, "|") {
		if name, ok := strings.CutPrefix(word, "@"); ok {
			for _, entry := range list(name).entries() {
				t.words = append(t.words, strings.TrimSpace(entry))
			}
			continue
		}
		t.words = append(t.words, word)
	}
	return t
}

// letters returns the key of a word in a lexicon.
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

// begin returns the length in words of the longest phrase at the beginning of the words; 0 if
// there is none.
func (l *lexicon) begin(words []string) (most int) {
	if len(words) == 0 {
		return 0
	}
	phrases := l.read()
	for _, key := range []string{letters(words[0]), "#", "_"} {
		for _, p := range phrases[key] {
			most = max(most, p.taken(words, p.tokens))
		}
	}
	return most
}

// find returns where the first phrase in the words begins and ends; 0, 0 if there is none.
func (l *lexicon) find(words []string) (from, to int) {
	phrases := l.read()
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

// in returns the first phrase that one of the sentences contains, as written there; empty if
// there is none. It skips sentences with a phrase of except, which may be nil.
func (l *lexicon) in(said []sentence, except *lexicon) string {
	for _, s := range said {
		if from, to := l.find(s.words); to > 0 && (except == nil || !except.has(s.words...)) {
			return strings.Join(s.words[from:to], " ")
		}
	}
	return ""
}

// has reports whether the words contain a phrase.
func (l *lexicon) has(words ...string) bool {
	_, to := l.find(words)
	return to > 0
}

// hasStem reports whether the list has a word with that stem.
func (l *lexicon) hasStem(stem string) bool {
	l.stemmed.Do(func() {
		l.stems = map[string]bool{}
		for _, entry := range l.entries() {
			l.stems[stemOf(strings.TrimSpace(entry))] = true
		}
	})
	return l.stems[stem]
}

// has reports whether the sentence contains a phrase of the list.
func (s sentence) has(name string) bool { return list(name).has(s.words...) }

// anyHas reports whether one of the sentences contains a phrase of the list.
func anyHas(said []sentence, name string) bool {
	return slices.ContainsFunc(said, func(s sentence) bool { return s.has(name) })
}
