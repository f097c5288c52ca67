package judge

import "slices"

// A kind is a kind of work, in words. words.txt has a list of words for each kind.
type kind string

const (
	explaining    kind = "an explanation"
	investigating kind = "an investigation"
	reviewing     kind = "a review"
	building      kind = "building"
	checking      kind = "testing"
	documenting   kind = "documentation"
	deploying     kind = "deployment"
	planning      kind = "planning"
	reporting     kind = "a report"
)

// kindOf returns the kind of work of the first word that names one; empty if no word does.
func kindOf(words ...string) kind {
	for _, word := range words {
		for _, k := range []kind{explaining, investigating, reviewing, building, checking, documenting, deploying, planning, reporting} {
			if list(string(k)).Has(word) {
				return k
			}
		}
	}
	return ""
}

// kindOfGoal returns the kind of work that a goal names, at its beginning or later.
func kindOfGoal(goal string) kind {
	all := Split(head(goal, maxText))
	if k := kindOf(all[:min(1, len(all))]...); k != "" {
		return k
	}
	for _, word := range all {
		if k := kindOf(word); k != building && k != planning && k != "" {
			return k
		}
	}
	return ""
}

// kindAsked returns the kind of work that these words of a request name, the verb first.
func kindAsked(words []string) kind {
	k := kindOf(words...)
	switch {
	case len(words) == 0, k == building && list("small work").Has(words[0]):
		return ""
	case k == "" && list("making").Has(words[0]) && !list("pointing").Has(second(words)):
		return building
	}
	return k
}

// differs reports whether work of this kind is separate from work of the goal's kind.
func (k kind) differs(goal kind) bool {
	others := map[kind][]kind{
		building:      {explaining, reviewing, investigating, documenting},
		documenting:   {reviewing, investigating},
		investigating: {explaining, reviewing, building, checking, documenting, deploying, planning, reporting},
	}
	return k != goal && (k == deploying || k == reviewing || slices.Contains(others[k], goal))
}

// accompanies reports whether work of this kind is usually part of work of the goal's kind.
func (k kind) accompanies(goal kind) bool {
	return k != goal && (k == checking || k == documenting) && (goal == building || goal == "")
}
