package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// recommenders stand before what is recommended.
var recommenders = []string{
	"go with", "stick with", "stay with", "stick to", "opt for", "settle on", "decide for", "switch to", "move to", "migrate to", "use",
	"choose", "pick", "recommend using", "recommend", "prefer", "adopt", "take", "suggest",
}

// chooses reports whether words before a verb make it a recommendation.
func chooses(before string) (yes, not bool) {
	before = strings.TrimSpace(before)
	for _, no := range []string{"not", "don't", "never", "do not", "would not", "wouldn't", "should not", "shouldn't"} {
		if strings.HasSuffix(before, no) {
			return true, true
		}
	}
	if before == "" || strings.HasSuffix(before, ",") || strings.HasSuffix(before, ":") {
		return true, false
	}
	for _, end := range []string{"i'd", "i would", "we should", "let's", "should", "i", "we", "you should", "would", "please", "to", "and",
		"better", "simply", "just", "so", "therefore", "to"} {
		if before == end || strings.HasSuffix(before, " "+end) {
			return end != "to" && end != "and" && end != "i" && end != "we" || before == end, false
		}
	}
	return false, false
}

// choice reads a recommendation: "use X for Y", "I'd go with X".
func choice(s string) (Claim, bool) {
	lower := strings.ToLower(s)
	for _, verb := range recommenders {
		at := strings.Index(lower, verb+" ")
		if at < 0 || at > 0 && lower[at-1] != ' ' || len(lower) != len(s) {
			continue
		}
		before := lower[:at]
		ok, not := chooses(before)
		if !ok && strings.HasSuffix(strings.TrimSpace(before), "i") {
			ok = verb == "recommend" || verb == "prefer" || verb == "suggest"
		}
		if !ok {
			continue
		}
		what, slot := chosen(s[at+len(verb)+1:])
		if what == "" {
			continue
		}
		v := notation.NameValue(what)
		if v.Kind != notation.Name {
			continue
		}
		v.Yes = v.Yes != not
		words := append([]string{"recommend"}, notation.KeyWords(slot)...)
		slices.Sort(words)
		return Claim{
			Subject: strings.TrimSpace("recommendation " + slot), Text: s, Value: v, Main: true, wide: len(words) == 1,
			key: strings.Join(words, " "), words: words,
		}, true
	}
	for _, end := range []string{" it should be", " it is", " it shall be"} {
		if what, found := strings.CutSuffix(s, end); found && what != strings.ToLower(what) && len(strings.Fields(what)) <= 4 {
			return recommended(what, s)
		}
	}
	if _, what, ok := strings.Cut(s, " should be "); ok {
		for _, word := range []string{"in ", "on ", "at ", "the "} {
			what = strings.TrimPrefix(what, word)
		}
		what, _ = chosen(what)
		if what != strings.ToLower(what) {
			return recommended(what, s)
		}
	}
	return Claim{}, false
}

// recommended returns the claim that a sentence recommends something, if that is a name.
func recommended(what, s string) (Claim, bool) {
	v := notation.NameValue(what)
	return Claim{
		Subject: "recommendation", Text: s, Value: v, Main: true, wide: true, key: "recommend", words: []string{"recommend"},
	}, v.Kind == notation.Name
}

// chosen splits what follows a recommendation into the choice and what it is for.
func chosen(text string) (what, slot string) {
	var words []string
	list := strings.Fields(text)
	for i, word := range list {
		bare := strings.ToLower(strings.Trim(word, ",.:;()"))
		if slices.Contains([]string{"for", "because", "since", "as", "with", "over", "instead", "rather", "in", "on", "and", "to", "until",
			"when", "if", "from", "at", "which", "that", "so", "but", "here"}, bare) {
			if bare == "for" && i > 0 {
				slot = slotOf(list[i+1:])
			}
			break
		}
		if i > 0 || bare != "the" && bare != "a" && bare != "an" {
			words = append(words, strings.Trim(word, ",.:;()"))
		}
		if strings.HasSuffix(word, ",") || strings.HasSuffix(word, ":") || strings.HasSuffix(word, ";") {
			break
		}
	}
	if len(words) == 0 || len(words) > 4 {
		return "", ""
	}
	return strings.Join(words, " "), slot
}

// slotOf returns the words that say what a choice is for.
func slotOf(list []string) string {
	var words []string
	for _, word := range list {
		bare := strings.Trim(word, ",.:;()")
		if slices.Contains([]string{"because", "since", "as", "and", "which", "that", "it", "if", "when"}, strings.ToLower(bare)) {
			break
		}
		words = append(words, bare)
		if bare != word {
			break
		}
	}
	if len(words) > 6 {
		return ""
	}
	return strings.Join(words, " ")
}
