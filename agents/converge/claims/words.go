package claims

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A wordSet is a set of words, made at its first use: most processes of flame compare no
// texts, and hosts wait for each process to start.
type wordSet func() map[string]bool

func (w wordSet) has(word string) bool { return w()[word] }

// setOf returns the words of a text as a set.
func setOf(words string) wordSet { return formsOf(words, func(word string) string { return word }) }

// stemsOf returns the stems of the words of a text as a set.
func stemsOf(words string) wordSet { return formsOf(words, stem) }

func formsOf(words string, form func(string) string) wordSet {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			set[form(word)] = true
		}
		return set
	})
}

// A dictionary maps words to meanings. It is made at its first use.
type dictionary func() map[string]string

func (d dictionary) of(word string) string { return d()[word] }

// dictionaryOf reads lines of the form "meaning: word word". A blank in a word is written as
// "_".
func dictionaryOf(lines string) dictionary {
	return sync.OnceValue(func() map[string]string {
		m := map[string]string{}
		for line := range strings.Lines(lines) {
			meaning, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
			for word := range strings.FieldsSeq(words) {
				m[strings.ReplaceAll(word, "_", " ")] = meaning
			}
		}
		return m
	})
}

// fillers are words that say nothing about the subject of a claim.
var fillers = setOf("a an the of for in on at to by is are was were be been has have it its this that these those our my your their with and or as " +
	"value values total overall there from per via will should must would can")

// synonyms are stems of equal meaning, by the stem that replaces them.
var synonyms = dictionaryOf(`pass: ok succe success succeed green
	fail: failure
	max: maximum
	min: minimum
	approv: approval
	recommend: recommendation
	mem: memory
	avg: average mean
	db: database
	repo: repository
	config: configuration
	postgr: postgresql postgre
	js: javascript
	ts: typescript
	k8: kubernete
	go: golang
	env: environment
	folder: directory dir
	percent: pct`)

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
	if other := synonyms.of(word); other != "" {
		return other
	}
	return word
}

// keyWords returns the stems of a subject, sorted, without duplicates. It splits names:
// maxConns, max_conns and "max conns" are equal.
func keyWords(text string) (list []string) {
	all := splitWords(text)
	for _, word := range all {
		if !fillers.has(word) {
			list = append(list, stem(word))
		}
	}
	if len(list) == 0 {
		list = all
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// splitWords returns the words of a text in lower case, with names split.
func splitWords(text string) (list []string) {
	var word strings.Builder
	before := ' '
	for _, r := range text + " " {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if word.Len() > 0 && (!letter || unicode.IsUpper(r) && unicode.IsLower(before)) {
			list = append(list, strings.ToLower(word.String()))
			word.Reset()
		}
		if letter {
			word.WriteRune(r)
		}
		before = r
	}
	return list
}

// truths are the words for yes and no.
var truths = dictionaryOf(`yes: yes true on enabled y ✓ ✔ ✅ ☑ x
	no: no false off disabled n ✗ ✘ ❌ ☐`)

// An opposite is one word of a pair of opposites.
type opposite struct {
	about   string
	affirms bool
}

// opposites maps stems to their opposites.
var opposites = sync.OnceValue(func() map[string]opposite {
	m := map[string]opposite{}
	words := strings.Fields("enabled disabled enable disable on off safe unsafe supported unsupported pass fail passes fails passed failed " +
		"passing failing valid invalid allowed forbidden accepted rejected accepts rejects possible impossible always never " +
		"present missing present absent open closed correct incorrect secure insecure stable unstable required optional " +
		"reachable unreachable complete incomplete used unused up down increases decreases increased decreased faster slower " +
		"higher lower ascending descending synchronous asynchronous public private blocking non-blocking compatible incompatible " +
		"changed unchanged works broken mutable immutable sensitive insensitive affected unaffected encrypted unencrypted " +
		"available unavailable known unknown before after more less inclusive exclusive succeeds fails succeeded failed")
	for pair := range slices.Chunk(words, 2) {
		yes, no := stem(pair[0]), stem(pair[1])
		if _, known := m[yes]; !known {
			m[yes] = opposite{yes, true}
		}
		if _, known := m[no]; !known {
			m[no] = opposite{m[yes].about, !m[yes].affirms}
		}
	}
	return m
})

// negations turn a statement into its opposite.
var negations = setOf("not no never cannot without none neither nor nothing")

// scales are groups of words that exclude each other.
var scales = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for word, scale := range dictionaryOf(`severity: critical high medium moderate low info informational negligible
		colour: red green yellow blue black white orange amber grey gray
		size: small large tiny huge
		day: monday tuesday wednesday thursday friday saturday sunday
		month: january february march april may june july august september october november december
		time: hourly daily weekly monthly yearly`)() {
		m[stem(word)] = scale
	}
	return m
})

// scopes are words that say where or for whom something holds. Claims of different scopes have
// different subjects.
var scopes = stemsOf("production prod staging dev development qa local canary preview linux windows macos darwin android ios freebsd amd64 arm64 " +
	"x86 arm chrome firefox safari edge primary secondary replica standby master leader follower monday tuesday wednesday thursday friday " +
	"saturday sunday weekend weekday admin admins administrator user users guest guests anonymous owner viewer editor client server frontend " +
	"backend soft hard min max minimum maximum p50 p90 p95 p99 median mean average")

// rough are words before a number that make it approximate or a bound.
var rough = dictionaryOf(`about: about ~ around roughly approximately approx approx. circa ca. some nearly almost
	least: >= at_least more_than > over min. from since
	most: <= at_most up_to < under less_than below max. until`)

// cutRough removes a word such as "about" before a number.
func cutRough(text string) (rest, how string) {
	lower := strings.ToLower(text)
	for word, how := range rough() {
		rest, ok := strings.CutPrefix(lower, word)
		if ok && (strings.HasPrefix(rest, " ") || !unicode.IsLetter(rune(word[0]))) && !strings.HasPrefix(rest, "=") {
			return strings.TrimSpace(text[len(word):]), how
		}
	}
	return text, ""
}
