package claims

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// A Match is what several texts claim about one subject.
type Match struct {
	Subject string
	Sides   []Side // one for each text, in order
	Verdict notation.Verdict
}

// A Side is the claim of one text.
type Side struct {
	Reading int // the index of the text
	Claim
}

// A Comparison is what several texts say about the same subjects.
type Comparison struct {
	Matches []Match // in the order of their subjects
	// Agreed says of each text whether it says the same as another in what matters: it
	// gives the same answer, or nothing of it was left that was not compared.
	Agreed []bool
	Claims [][]Claim // of each text, one of a subject at most
}

// Compare holds the claims of texts against each other. The order of the texts makes no
// difference but to the indexes in the result.
func Compare(readings []Reading, tolerance notation.Tolerance) Comparison {
	c := comparer{readings: readings, tolerance: tolerance, groups: map[string][]Side{}, ambiguous: make([]int, len(readings))}
	result := Comparison{Agreed: make([]bool, len(readings)), Claims: make([][]Claim, len(readings))}
	for i, r := range readings {
		result.Claims[i] = c.unambiguous(i, r)
		for _, claim := range result.Claims[i] {
			c.groups[claim.key] = append(c.groups[claim.key], Side{i, claim})
		}
	}
	c.join()
	for _, key := range slices.Sorted(maps.Keys(c.groups)) {
		sides := c.groups[key]
		if !slices.ContainsFunc(sides, func(s Side) bool { return !strings.HasPrefix(s.key, whole) }) {
			continue
		}
		if m := c.match(sides); len(m.Sides) > 1 {
			result.Matches = append(result.Matches, m)
		}
	}
	c.agreed(result)
	return result
}

type comparer struct {
	readings  []Reading
	tolerance notation.Tolerance
	groups    map[string][]Side // by what they are about
	ambiguous []int             // of each text, of how many subjects it says several things
}

// unambiguous returns the claims of a text, at most one of a subject. What it says of
// one in several ways, in other places, is told apart by these.
func (c *comparer) unambiguous(i int, r Reading) (list []Claim) {
	same := map[string][]Claim{}
	var keys []string
	elsewhere := c.elsewhere(i)
	for _, claim := range r.Claims {
		claim.key += elsewhere
		if claim.wide && claim.Field == "" || onlyVague(claim.words) {
			claim.key += c.asked(i)
		}
		if len(claim.scope) > 0 {
			claim.key += " @" + strings.Join(claim.scope, " ")
		}
		if len(same[claim.key]) == 0 {
			keys = append(keys, claim.key)
		}
		same[claim.key] = append(same[claim.key], claim)
	}
	for _, key := range keys {
		claim, ok := c.one(same[key])
		if claim.Key = key; !ok {
			c.ambiguous[i]++
			continue
		}
		list = append(list, claim)
	}
	return list
}

// one returns the claim that holds among several of a text about one subject.
func (c *comparer) one(list []Claim) (Claim, bool) {
	last := list[len(list)-1]
	if last.later {
		return last, true
	}
	found := list[0]
	for _, other := range list[1:] {
		switch {
		case found.Value.Kind == notation.Prose:
			found = other
		case other.Value.Kind != notation.Prose && found.Value.Compare(other.Value, c.tolerance) != notation.Same:
			return found, false
		}
		found.Main = found.Main || other.Main
		if found.prose && !other.prose {
			found.prose, found.unit = false, other.unit
		}
	}
	return found, true
}

// onlyVague reports whether a subject is told by words that need a question to tell of what.
func onlyVague(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !vague.Has(word) })
}

// elsewhere returns what tells the claims of a text from those of one that is about another
// thing; empty if all are about the same.
func (c *comparer) elsewhere(i int) string {
	for _, subject := range slices.Sorted(maps.Keys(c.readings[i].identity)) {
		v := c.readings[i].identity[subject]
		for j, other := range c.readings {
			w, ok := other.identity[subject]
			if ok && v.Compare(w, notation.Tolerance{}) == notation.Different && c.alike(i, j, subject) {
				return " @" + subject + "=" + strings.ToLower(v.Text)
			}
		}
	}
	return ""
}

// alike reports whether two texts have claims about the same subjects, besides this one.
func (c *comparer) alike(i, j int, subject string) bool {
	keys := map[string]bool{}
	for _, claim := range c.readings[i].Claims {
		keys[claim.key] = claim.words != nil && claim.key != subject
	}
	for _, claim := range c.readings[j].Claims {
		if keys[claim.key] {
			return true
		}
	}
	return false
}

// asked returns what tells the answers to one question from those to another.
func (c *comparer) asked(i int) string {
	for j, other := range c.readings {
		if !c.readings[i].task.sameAs(other.task) && i != j {
			return " ?" + c.readings[i].task.text
		}
	}
	return ""
}

// vague are words of a subject that tell it from no other.
var vague = notation.StemsOf("final recommended chosen current new default suggested proposed selected overall expected actual result " +
	"answer count number amount name " +
	"max min limit size rate id version setting release needed required migrate")

// join puts claims together whose subjects are told more or less closely: "plan" and
// "plan chosen", if there is no other that it could be.
func (c *comparer) join() {
	type lone struct {
		key string
		Side
	}
	var alone []lone
	for _, key := range slices.Sorted(maps.Keys(c.groups)) {
		if sides := c.groups[key]; len(sides) == 1 && len(sides[0].words) > 0 && !kindless(sides[0].Value) {
			alone = append(alone, lone{key, sides[0]})
		}
	}
	if len(alone) > maxLone {
		return
	}
	partners := map[string][]string{}
	var doubtful [][2]lone
	proven := map[string]int{} // how often words that only one of two subjects has told nothing apart
	for i, x := range alone {
		for _, y := range alone[i+1:] {
			if x.Reading == y.Reading {
				continue
			}
			extra, related := c.closely(x.Claim, y.Claim)
			switch {
			case related == apart:
				continue
			case related == perhaps:
				doubtful = append(doubtful, [2]lone{x, y})
				continue
			case x.Value.Compare(y.Value, c.tolerance) == notation.Same:
				proven[extra]++
			}
			partners[x.key] = append(partners[x.key], y.key)
			partners[y.key] = append(partners[y.key], x.key)
		}
	}
	for _, both := range doubtful {
		x, y := both[0], both[1]
		if extra, _ := c.closely(x.Claim, y.Claim); proven[extra] >= enoughProof {
			partners[x.key] = append(partners[x.key], y.key)
			partners[y.key] = append(partners[y.key], x.key)
		}
	}
	for _, x := range alone {
		if list := partners[x.key]; len(list) == 1 && len(partners[list[0]]) == 1 && x.key < list[0] {
			c.groups[x.key] = append(c.groups[x.key], c.groups[list[0]]...)
			delete(c.groups, list[0])
		}
	}
}

// enoughProof is how many subjects must be told alike but for the same words, until these
// tell no other one apart either: the header of a table whose rows are the keys of a list.
const enoughProof = 2

// maxLone bounds how many subjects are compared word by word.
const maxLone = 400

// kindless reports whether a value says nothing that could be compared.
func kindless(v notation.Value) bool {
	return v.Kind == notation.Prose || v.Kind == notation.Atoms && len(v.List) == 0
}

// A relation says whether two subjects may be one.
type relation int

const (
	apart   relation = iota
	perhaps          // if others show that the words that one has more mean nothing
	single
)

// closely reports whether one of two subjects is the other, told more closely, and by
// which words. Only values that agree prove that if these could tell it apart.
func (c *comparer) closely(x, y Claim) (extra string, related relation) {
	if len(x.words) > len(y.words) {
		x, y = y, x
	}
	if len(x.words) == len(y.words) || len(y.words)-len(x.words) > 3 || suffix(x.key) != suffix(y.key) ||
		strings.HasPrefix(x.key, whole) || strings.HasPrefix(y.key, whole) && len(x.words) < 2 {
		return "", apart
	}
	for _, word := range x.words {
		if !slices.Contains(y.words, word) {
			return "", apart
		}
	}
	safe := true
	for _, word := range y.words {
		if !slices.Contains(x.words, word) {
			safe = safe && (vague.Has(word) || c.asks(word))
			extra += " " + word
			if notation.Scopes()[word] != "" && !c.asks(word) {
				return "", apart
			}
		}
	}
	switch x.Value.Compare(y.Value, c.tolerance) {
	case notation.Same:
		return extra, single
	case notation.Different:
		if safe || len(x.words) > 1 || slices.Equal(x.words, []string{"recommend"}) {
			return extra, single
		}
		return extra, perhaps
	}
	return "", apart
}

// asks reports whether a word is in a task: it tells nothing apart.
func (c *comparer) asks(word string) bool {
	return slices.ContainsFunc(c.readings, func(r Reading) bool { return slices.Contains(r.task.words, word) })
}

// suffix returns what tells a key from equal ones about another thing.
func suffix(key string) string {
	at := strings.IndexAny(key, "@?")
	if at < 0 {
		return ""
	}
	return key[at:]
}

// match compares the claims about one subject.
func (c *comparer) match(sides []Side) Match {
	slices.SortFunc(sides, func(x, y Side) int { return cmp.Compare(x.Reading, y.Reading) })
	m := Match{Sides: sides, Subject: sides[0].Subject, Verdict: notation.Same}
	for _, s := range sides {
		m.Subject = min(m.Subject, s.Subject)
	}
	for i, x := range sides {
		for _, y := range sides[i+1:] {
			switch x.Value.Compare(y.Value, c.tolerance) {
			case notation.Different:
				m.Verdict = notation.Different
				return m
			case notation.Unknown:
				m.Verdict = notation.Unknown
			}
		}
	}
	return m
}

// agreed finds the texts of which what matters was compared and found the same.
func (c *comparer) agreed(result Comparison) {
	type both struct{ i, j int }
	shared := map[both]*common{}
	for _, m := range result.Matches {
		if m.Verdict != notation.Same {
			continue
		}
		for a, x := range m.Sides {
			for _, y := range m.Sides[a+1:] {
				pair := both{x.Reading, y.Reading}
				if shared[pair] == nil {
					shared[pair] = &common{one: map[int]bool{}, other: map[int]bool{}}
				}
				shared[pair].one[x.unit] = true
				shared[pair].other[y.unit] = true
				shared[pair].main = shared[pair].main || x.Main && y.Main
			}
		}
	}
	for pair, found := range shared {
		if c.enough(pair.i, pair.j, found, result) {
			result.Agreed[pair.i], result.Agreed[pair.j] = true, true
		}
	}
}

// common is what two texts say alike: the lines and sentences of each.
type common struct {
	one, other map[int]bool
	main       bool // both give the same answer
}

// mostLeft is how many sentences may be left beside the answer itself.
const mostLeft = 2

// enough reports whether what two texts say alike is what matters: nothing of one is left
// to compare, or they have the same answer to the one question that was asked. Where both
// say more in lines with names, that must be little: other names may be for the same.
func (c *comparer) enough(i, j int, found *common, result Comparison) bool {
	words, lines := c.left(i, found.one, result.Claims[i])
	otherWords, otherLines := c.left(j, found.other, result.Claims[j])
	switch several := c.readings[i].task.several || c.readings[j].task.several; {
	case words+lines == 0 || otherWords+otherLines == 0:
		return true
	case found.main && !several:
		return min(words, otherWords) <= mostLeft
	}
	return words+otherWords == 0 && min(lines, otherLines)*3 <= len(found.one)
}

// left counts the sentences and the lines of a text that were not found in the other.
func (c *comparer) left(i int, found map[int]bool, list []Claim) (words, lines int) {
	words = c.readings[i].Unread + c.ambiguous[i]
	seen := map[int]bool{}
	for _, claim := range list {
		if seen[claim.unit] || found[claim.unit] || claim.extra {
			continue
		}
		seen[claim.unit] = true
		if claim.prose {
			words++
		} else {
			lines++
		}
	}
	return words, lines
}
