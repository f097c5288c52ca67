package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// A task is what was asked, as far as that says how the answers are to be compared.
type task struct {
	text     string // in one notation
	words    []string
	counted  []string      // "how many X": the words of X
	counting string        // the same, as written
	wanted   notation.Kind // of the value asked for: version, date or file; 0 if that is not clear
	long     bool          // it asks how long something takes
	ordered  bool          // the order of lists counts
	exact    bool          // it asks for all there are
	named    string        // "which X": the stem of X
	amount   bool          // it asks how much of something there is, or how long it takes
	past     bool          // it asks what was
	several  bool          // it asks more than one thing
	again    bool          // it has another agent's answer checked, so both have the same task
}

// readTask reads what a task asks for.
func readTask(text string) task {
	lower := strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(" "+lower, part) })
	}
	t := task{text: lower, words: notation.KeyWords(notation.Plain.Replace(lower))}
	t.long = has("how long", "duration", "run time", "how fast", "speed", "benchmark", "latency", "time does", "time did")
	t.ordered = has(" rank", "in the order", "in order", "which order", "what order", "sorted", "sequence", "by priority", "prioriti",
		"from best", "best first", "fastest first", "first to last") &&
		!has("order does not matter", "any order", "no order", "order doesn't matter")
	t.exact = has(" which ", " list ", " name ", " what are", " find all", " all ", " enumerate", " what files")
	t.amount = has("how long", "how much", "how big", "how large", "how fast", "how often", "how far", "how high", "how old", "what share", "which share",
		"what percentage", "what fraction", "what is the", "estimate", "what part")
	t.past = has(" was ", " were ", " did ")
	for _, which := range []string{"which ", "what "} {
		if _, what, ok := strings.Cut(lower, which); ok && t.named == "" {
			t.named = strings.Join(first(notation.KeyWords(strings.Join(first(strings.Fields(what), 1), " ")), 1), "")
		}
	}
	t.several = strings.Count(lower, "?") > 1 || has(" and ", ":")
	t.again = has("repeat", "second opinion", "the same", "again", "independent", "verif", "confirm", "check the first", "re-measur",
		"other asked", "other tried", "asked the running")
	if _, what, ok := strings.Cut(lower, "how many "); ok {
		nouns := strings.Fields(what)
		if end := slices.IndexFunc(nouns, func(word string) bool { return nounEnds.Has(strings.Trim(word, "?,.")) }); end > 0 {
			nouns = nouns[:end]
		}
		nouns = first(nouns, 3)
		t.counting = strings.Trim(strings.Join(nouns, " "), "?,.")
		t.counted = first(notation.KeyWords(strings.Trim(lastOf(nouns), "?,.")), 1)
	}
	switch {
	case has("which version", "what version", "which release"):
		t.wanted = notation.Version
	case has(" when ", "which date", "what date", "which day", "what day"):
		t.wanted = notation.Date
	case has("which commit", "what commit", "which revision", "what revision", "which hash"):
		t.wanted = notation.Commit
	case has("which file", "what file", "which path", "in which folder", "which folder", "where is", "where does", "where are"):
		t.wanted = notation.File
	}
	return t
}

// tellsApart reports whether a task gives each agent a thing of its own, which a word names.
func (t task) tellsApart(stem string) bool {
	list := notation.SplitWords(t.text)
	for i, word := range list {
		if (word == "another" || word == "own" || word == "other" || word == "different") && i+1 < len(list) && notation.Stem(list[i+1]) == stem {
			return slices.Contains(list, "each")
		}
	}
	return false
}

// nounEnds are words that end what "how many" asks for.
var nounEnds = notation.SetOf("does do did is are was were has have had can could will would should must may of in on at to for with that which " +
	"from per there we carry")

// asksYesOrNo reports whether a task is a question for yes or no.
func asksYesOrNo(text string) bool {
	verb, _, _ := strings.Cut(text, " ")
	return strings.HasSuffix(text, "?") && strings.Count(text, "?") == 1 && yesOrNo.Has(verb) && !strings.Contains(text, " or ")
}

var yesOrNo = notation.SetOf("is are was were does do did can could may must should has have will")

func lastOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func first(list []string, n int) []string { return list[:min(n, len(list))] }

// sameAs reports whether two agents were asked the same, as far as is known: in other
// words perhaps, but mostly in the same.
func (t task) sameAs(other task) bool {
	if t.text == "" || other.text == "" || t.text == other.text || t.again || other.again {
		return true
	}
	shared := 0
	for _, word := range t.words {
		if slices.Contains(other.words, word) {
			shared++
		}
	}
	return 2*shared > len(t.words)+len(other.words)-shared
}
