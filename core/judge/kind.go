package judge

import (
	"slices"
	"strings"

	"github.com/samber/lo"
)

// The kinds of work with a meaning of their own. words.txt has the words for these and others.
const (
	explaining    = "an explanation"
	investigating = "an investigation"
	building      = "building"
	checking      = "testing"
	documenting   = "documentation"
	planning      = "planning"
)

// kindOf returns the kind of work of the first word that names one; empty if no word does.
func kindOf(words []string) string {
	for _, word := range words {
		if kind := list("kinds of work").Meanings()[word]; kind != "" {
			return kind
		}
	}
	return ""
}

// kindOfGoal returns the kind of work that a goal names, at its beginning or later.
func kindOfGoal(goal string) string {
	words := Split(head(goal, maxText))
	return kindOf(slices.DeleteFunc(words, func(word string) bool {
		kind := kindOf([]string{word})
		return (kind == building || kind == planning) && word != words[0]
	}))
}

// kindAsked returns the kind of work that these words of a request name, the verb first.
func kindAsked(words []string) string {
	kind := kindOf(words)
	switch {
	case len(words) == 0, kind == building && list("small work").Has(words[0]):
		return ""
	case kind == "" && list("making").Has(words[0]) && !list("pointing").Has(lo.NthOrEmpty(words, 1)):
		return building
	}
	return kind
}

// separate reports whether work of a kind is separate from work of the goal's kind.
func separate(kind, goal string) bool {
	return kind != goal && list("separate kinds").Has(strings.Fields(kind+" "+goal)...)
}

// accompanies reports whether work of a kind is usually part of work of the goal's kind.
func accompanies(kind, goal string) bool {
	return kind != goal && (kind == checking || kind == documenting) && (goal == building || goal == "")
}
