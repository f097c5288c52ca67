// Package claims reads what a text says of which subject, without a model, and holds
// that against what other texts say of the same subject. It knows the notations in
// which agents report: keys and values, JSON, tables, lists, diffs, the output of known
// tools, numbers in otherwise equal sentences, and plain recommendations. What only
// their meaning could compare it leaves to others, and counts.
package claims

import (
	"flame/agents/converge/notation"
)

// A Claim is one thing that a text says of a subject.
type Claim struct {
	Subject string // what it is about, as written
	Text    string // what it says of it, for people
	Main    bool   // it answers the question: a verdict, a recommendation
	Value   notation.Value
	Key     string // equal for claims about the same subject, of all the texts that were compared
	Field   string // of a claim in a JSON object: the field at its top

	key   string   // equal for claims about the same subject
	words []string // of the subject; nil if only an equal key will do
	scope []string // words that say where or for whom it holds
	wide  bool     // only answers to one question have it in common
	later bool     // it corrects what was said before
	unit  int      // the line or sentence that it is from
	prose bool     // that is running text: if it is not found elsewhere, it was not understood
	extra bool     // the same is claimed one by one
}

// A Reading is what a text claims.
type Reading struct {
	Claims []Claim
	// Unread counts the sentences and lines of which nothing was understood.
	Unread int

	task     task
	identity map[string]notation.Value // what the text as a whole is about: a file, a bucket
}

// The limits of what is read of a text; beyond them it counts as not understood.
const (
	maxText   = 200_000 // bytes
	maxLine   = 4_000   // bytes
	maxClaims = 2_000
)
