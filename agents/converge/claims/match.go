package claims

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"
)

// A Match is the claims of several texts about one subject.
type Match struct {
	Subject string
	Sides   []Side // one for each text, in order
	Verdict Verdict
}

// A Side is the claim of one text.
type Side struct {
	Reading int // the index of the text
	Claim
}

// A Comparison is the result of comparing the claims of several texts.
type Comparison struct {
	Matches []Match // in the order of their subjects
	// Agreed reports for each text whether it agrees with another: both give the same answer,
	// or all claims of one of them were compared and are equal.
	Agreed []bool
	Claims [][]Claim // by text, at most one for each subject
}

// Compare compares the claims of texts with each other. The order of the texts makes no
// difference but to the indexes in the result.
func Compare(readings []Reading, tolerance Tolerance) Comparison {
	c := comparer{
		Comparison: Comparison{Agreed: make([]bool, len(readings)), Claims: make([][]Claim, len(readings))},
		readings:   readings, tolerance: tolerance, groups: map[string][]Side{}, ambiguous: make([]int, len(readings)),
	}
	for i := range readings {
		c.Claims[i] = c.unambiguous(i)
		for _, claim := range c.Claims[i] {
			c.groups[claim.key] = append(c.groups[claim.key], Side{i, claim})
		}
	}
	c.join()
	for _, key := range slices.Sorted(maps.Keys(c.groups)) {
		sides := c.groups[key]
		lines := slices.ContainsFunc(sides, func(s Side) bool { return !strings.HasPrefix(s.key, whole) })
		if lines && len(sides) > 1 {
			c.Matches = append(c.Matches, c.match(sides))
		}
	}
	c.agreed()
	return c.Comparison
}

type comparer struct {
	Comparison
	readings  []Reading
	tolerance Tolerance
	groups    map[string][]Side // by key
	ambiguous []int             // by text: the number of subjects that it claims different values for
}

// unambiguous returns the claims of a text, at most one for each subject. Places and
// conditions are part of the subject.
func (c *comparer) unambiguous(i int) (list []Claim) {
	same, keys, elsewhere := map[string][]Claim{}, []string(nil), c.elsewhere(i)
	for _, claim := range c.readings[i].Claims {
		claim.where = elsewhere
		if claim.wide && claim.Field == "" || len(claim.words) > 0 && !slices.ContainsFunc(claim.words, distinct) {
			claim.where += c.asked(i)
		}
		if len(claim.scope) > 0 {
			claim.where += " @" + strings.Join(claim.scope, " ")
		}
		claim.key += claim.where
		claim.Key = claim.key
		if same[claim.key] == nil {
			keys = append(keys, claim.key)
		}
		same[claim.key] = append(same[claim.key], claim)
	}
	for _, key := range keys {
		if claim, ok := c.one(same[key]); ok {
			list = append(list, claim)
		} else {
			c.ambiguous[i]++
		}
	}
	return list
}

// one returns the claim that applies among several of a text about one subject; false if they
// differ.
func (c *comparer) one(list []Claim) (Claim, bool) {
	if last := list[len(list)-1]; last.later {
		return last, true
	}
	found := list[0]
	for _, other := range list[1:] {
		switch {
		case found.Value.Kind == Prose:
			found = other
		case other.Value.Kind != Prose && found.Value.Compare(other.Value, c.tolerance) != Same:
			return found, false
		}
	}
	return found, true
}

// elsewhere returns a suffix for the keys of a text that is about another thing than another
// text; empty if all texts are about the same thing.
func (c *comparer) elsewhere(i int) string {
	for _, subject := range slices.Sorted(maps.Keys(c.readings[i].identity)) {
		v := c.readings[i].identity[subject]
		for j, other := range c.readings {
			w, ok := other.identity[subject]
			if ok && v.Compare(w, Tolerance{}) == Different && c.overlap(i, j, subject) {
				return " @" + subject + "=" + strings.ToLower(v.Text)
			}
		}
	}
	return ""
}

// overlap reports whether two texts share subjects other than this one.
func (c *comparer) overlap(i, j int, subject string) bool {
	keys := map[string]bool{}
	for _, claim := range c.readings[i].Claims {
		keys[claim.key] = claim.words != nil && claim.key != subject
	}
	return slices.ContainsFunc(c.readings[j].Claims, func(claim Claim) bool { return keys[claim.key] })
}

// asked returns a suffix for the keys of answers if the texts answer different questions.
func (c *comparer) asked(i int) string {
	t := c.readings[i].task
	if slices.ContainsFunc(c.readings, func(other Reading) bool { return !t.sameAs(other.task) }) {
		return " ?" + t.text
	}
	return ""
}

func distinct(word string) bool { return !stemIn("vague")(word) }

const (
	// maxLone is how many subjects join compares word by word at most.
	maxLone = 400
	// enoughProof is how many pairs of subjects with equal values must differ by the same
	// words before these words count as meaningless, such as the header of a table whose
	// rows are the keys of a list.
	enoughProof = 2
)

// join merges claims whose subjects differ only in detail, such as "plan" and "plan chosen",
// if no other subject fits.
func (c *comparer) join() {
	alone := lo.Filter(slices.Sorted(maps.Keys(c.groups)), func(key string, _ int) bool {
		sides := c.groups[key]
		v := sides[0].Value
		return len(sides) == 1 && len(sides[0].words) > 0 && v.Kind != Prose && (v.Kind != Atoms || len(v.list) > 0)
	})
	if len(alone) > maxLone {
		return
	}
	proven, unproven, partners := map[string]int{}, map[string][][2]string{}, map[string][]string{}
	pair := func(x, y string) { partners[x], partners[y] = append(partners[x], y), append(partners[y], x) }
	for i, x := range alone {
		for _, y := range alone[i+1:] {
			switch extra, is := c.related(c.groups[x][0], c.groups[y][0]); is {
			case equal:
				proven[extra]++
				pair(x, y)
			case single:
				pair(x, y)
			case perhaps:
				unproven[extra] = append(unproven[extra], [2]string{x, y})
			}
		}
	}
	for extra, pairs := range unproven {
		for _, of := range pairs {
			if proven[extra] >= enoughProof {
				pair(of[0], of[1])
			}
		}
	}
	for _, x := range alone {
		if list := partners[x]; len(list) == 1 && len(partners[list[0]]) == 1 && x < list[0] {
			c.groups[x] = append(c.groups[x], c.groups[list[0]]...)
			delete(c.groups, list[0])
		}
	}
}

// A relation says whether two subjects may be one.
type relation int

const (
	apart   relation = iota
	perhaps          // if other pairs show that the additional words of one mean nothing
	single
	equal // and their values are equal
)

// related reports whether two subjects may be one, written with and without additional words,
// and returns these words. If the words could distinguish subjects, only equal values prove that
// they do not.
func (c *comparer) related(x, y Side) (extra string, is relation) {
	if len(x.words) > len(y.words) {
		x, y = y, x
	}
	if x.Reading == y.Reading || len(x.words) == len(y.words) || len(y.words)-len(x.words) > 3 || x.where != y.where ||
		strings.HasPrefix(x.key, whole) || strings.HasPrefix(y.key, whole) && len(x.words) < 2 || !lo.Every(y.words, x.words) {
		return "", apart
	}
	asks := func(word string) bool {
		return slices.ContainsFunc(c.readings, func(r Reading) bool { return slices.Contains(r.task.words, word) })
	}
	safe := true
	for _, word := range y.words {
		if slices.Contains(x.words, word) {
			continue
		}
		extra += " " + word
		safe = safe && (stemIn("vague")(word) || asks(word))
		if stemIn("scopes")(word) && !asks(word) {
			return "", apart
		}
	}
	switch x.Value.Compare(y.Value, c.tolerance) {
	case Same:
		return extra, equal
	case Different:
		if safe || len(x.words) > 1 || slices.Equal(x.words, []string{"recommend"}) {
			return extra, single
		}
		return extra, perhaps
	}
	return "", apart
}

// match compares the claims about one subject.
func (c *comparer) match(sides []Side) Match {
	slices.SortFunc(sides, func(x, y Side) int { return cmp.Compare(x.Reading, y.Reading) })
	m := Match{Sides: sides, Subject: sides[0].Subject}
	var verdicts []Verdict
	for i, x := range sides {
		m.Subject = min(m.Subject, x.Subject)
		for _, y := range sides[i+1:] {
			verdicts = append(verdicts, x.Value.Compare(y.Value, c.tolerance))
		}
	}
	m.Verdict = overall(verdicts)
	return m
}

// agreed records which texts agree with another.
func (c *comparer) agreed() {
	for i := range c.readings {
		for j := range i {
			if c.enough(i, j) {
				c.Agreed[i], c.Agreed[j] = true, true
			}
		}
	}
}

// mostLeft is how many sentences beside the answer itself the other text may lack.
const mostLeft = 2

// enough reports whether two texts agree: one has all claims of the other, or all but a few
// beside the same answer to the only question.
func (c *comparer) enough(i, j int) bool {
	one, other, main := map[int]bool{}, map[int]bool{}, false // the lines and sentences of each that the other has
	for _, m := range c.Matches {
		x := slices.IndexFunc(m.Sides, func(s Side) bool { return s.Reading == i })
		y := slices.IndexFunc(m.Sides, func(s Side) bool { return s.Reading == j })
		if m.Verdict == Same && x >= 0 && y >= 0 {
			one[m.Sides[x].unit], other[m.Sides[y].unit] = true, true
			main = main || m.Sides[x].main && m.Sides[y].main
		}
	}
	left, otherLeft := c.left(i, one), c.left(j, other)
	several := c.readings[i].task.is["several"] || c.readings[j].task.is["several"]
	return len(one) > 0 && min(left, otherLeft) <= lo.Ternary(main && !several, mostLeft, 0)
}

// left counts the sentences and lines of a text that the other text lacks.
func (c *comparer) left(i int, found map[int]bool) int {
	missed := map[int]bool{}
	for _, claim := range c.Claims[i] {
		if !found[claim.unit] && !claim.extra {
			missed[claim.unit] = true
		}
	}
	return c.readings[i].unread + c.ambiguous[i] + len(missed)
}
