package claims

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A task is the question, as far as it says how to compare the answers.
type task struct {
	text    string // in one notation
	words   []string
	is      map[string]bool // the marks that fit
	wanted  Kind            // of the value that it asks for; 0 if that is not clear
	counted []string        // "how many X": the words of X
	counts  string          // the same, as written
	named   string          // "which X": the stem of X
}

var (
	countForm = core.Pattern(`how many (\S+(?: \S+){0,2})`)
	namedForm = core.Pattern(`(?:which|what) (\S+)`)

	severalForm = core.Pattern(`\?.*\?| and |:`)
	truthForm   = core.Pattern(`^(?:is|are|was|were|does|do|did|can|could|may|must|should|has|have|will) [^?]*\?$`)
)

// readTask finds what a task asks for.
func readTask(text string) task {
	lower := strings.ToLower(strings.Join(strings.Fields(text), " "))
	t := task{text: lower, words: keyWords(plain.Replace(lower)), is: map[string]bool{}}
	said := Split(lower)
	for name, list := range lists() {
		if mark, ok := strings.CutPrefix(name, "task "); ok {
			t.is[mark] = list.Has(said...)
		}
	}
	t.is["several"] = severalForm().MatchString(lower)
	t.is["ordered"] = t.is["ordered"] && !t.is["unordered"]
	t.is["yes or no"] = truthForm().MatchString(lower) && !strings.Contains(lower, " or ")
	for _, kind := range []struct {
		mark string
		kind Kind
	}{{"version", Version}, {"date", Date}, {"commit", Commit}, {"file", File}} {
		if t.wanted == Prose && t.is[kind.mark] {
			t.wanted = kind.kind
		}
	}
	if m := namedForm().FindStringSubmatch(lower); m != nil {
		t.named = keyWords(m[1] + " -")[0]
	}
	if m := countForm().FindStringSubmatch(lower); m != nil {
		nouns := strings.Fields(m[1])
		if end := slices.IndexFunc(nouns, func(word string) bool { return wordIn("noun ends")(strings.Trim(word, "?,.")) }); end > 0 {
			nouns = nouns[:end]
		}
		t.counts = strings.Trim(strings.Join(nouns, " "), "?,.")
		t.counted = keyWords(nouns[len(nouns)-1])
	}
	return t
}

// sameAs reports whether two tasks ask the same question: they share most words, or one asks to
// repeat the work of another. An unknown task may be any.
func (t task) sameAs(other task) bool {
	if t.text == "" || other.text == "" || t.text == other.text || t.is["again"] || other.is["again"] {
		return true
	}
	shared := lo.CountBy(t.words, func(word string) bool { return slices.Contains(other.words, word) })
	return 2*shared > len(t.words)+len(other.words)-shared
}

// work reports whether a subject is the agent's own work and the task does not ask for it.
func (t task) work(words []string) bool {
	if len(words) == 1 {
		return stemIn("own work")(words[0]) && !slices.Contains(t.words, words[0]) && !t.is["long"]
	}
	return len(words) <= 3 && slices.ContainsFunc(words, func(word string) bool { return stemIn("moments")(word) && !slices.Contains(t.words, word) })
}

// A title says what the lines below it are about.
type title struct {
	text  string
	words []string
	aside bool // the lines below it make no claims
}

func titled(text string) title {
	text = strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "#*_: "))
	t := title{text: text, words: keyWords(plain.Replace(text))}
	if all := splitWords(text); len(all) > 0 && len(t.words) <= 4 {
		t.aside = stemIn("asides")(stem(all[0])) || len(t.words) <= 2 && slices.ContainsFunc(t.words, stemIn("asides"))
	}
	return t
}
