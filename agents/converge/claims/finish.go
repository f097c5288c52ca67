package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// identities are subjects that may say what a text as a whole is about.
var identities = notation.StemsOf("file subject bucket zone resource service repository repo module package component platform os device " +
	"day node ticket issue " +
	"pr environment cluster customer account tenant page route endpoint document branch region host server table database project commit " +
	"printer queue domain")

// begins reports whether none of the claims before the one of this key is about anything
// else. Behind others a line is one of several facts, and not what they are about.
func begins(before []Claim, key string) bool {
	return !slices.ContainsFunc(before, func(c Claim) bool { return c.key != "" && !strings.EqualFold(c.key, key) })
}

// identify notes what a text as a whole is about, if a claim says so.
func (r *reader) identify(key string, v notation.Value) {
	words := notation.KeyWords(key)
	if len(words) != 1 || !identities.Has(words[0]) && !r.reading.task.tellsApart(words[0]) || v.Kind == notation.Set || v.Kind == notation.Prose {
		return
	}
	if slices.Contains(r.reading.task.words, words[0]) && strings.Contains(r.reading.task.text, "which "+strings.ToLower(key)) {
		return
	}
	if r.reading.identity == nil {
		r.reading.identity = map[string]notation.Value{}
	}
	r.reading.identity[words[0]] = v
}

// finish adds what only the whole text tells.
func (r *reader) finish() {
	for _, c := range r.lists {
		if len(r.lists) > 1 && !slices.ContainsFunc(r.reading.Claims, func(other Claim) bool { return other.unit == c.unit }) {
			r.reading.Unread++
		}
	}
	if len(r.lists) == 0 {
		for _, c := range r.reading.Claims {
			if c.Value.Kind == notation.Set && c.Field == "" && !c.prose {
				r.lists = append(r.lists, c)
			}
		}
	}
	if len(r.lists) == 1 {
		c := r.lists[0]
		c.key, c.words, c.wide = "list", nil, true
		r.reading.Claims = append(r.reading.Claims, c)
	}
	t := r.reading.task
	if asksYesOrNo(t.text) {
		r.reading.Claims = append(r.reading.Claims, affirmed(r.reading)...)
	}
	switch {
	case len(t.counted) > 0:
		r.answer(func(c Claim) bool {
			return c.Value.Kind == notation.Number && slices.Contains(c.words, t.counted[0])
		}, r.quantities)
	case t.amount && !t.several:
		r.amounts()
	case t.wanted == notation.Prose && t.named != "" && !t.several:
		r.answer(func(c Claim) bool { return c.Value.Kind == notation.Number && slices.Contains(c.words, t.named) }, r.quantities)
	case t.wanted != notation.Prose:
		r.answer(func(c Claim) bool { return c.Value.Kind == t.wanted && !c.prose }, r.values)
	}
	if len(r.reading.Claims) < 2 {
		r.reading.identity = nil
	}
}

// affirmed returns the answer to a question for yes or no, where it is told in its own words.
func affirmed(reading Reading) (found []Claim) {
	for _, c := range reading.Claims {
		if c.key == "answer" {
			return nil
		}
		if c.Value.Kind == notation.Truth && len(c.words) > 0 && len(c.scope) == 0 &&
			!slices.ContainsFunc(c.words, func(word string) bool { return !slices.Contains(reading.task.words, word) }) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return nil
	}
	c := &found[0]
	c.key, c.words, c.Main, c.wide, c.extra = "answer", []string{"answer"}, true, true, false
	return found
}

// answer adds the claim that answers a question, if there is only one such value.
func (r *reader) answer(fits func(Claim) bool, more []Claim) {
	var found *Claim
	for _, c := range slices.Concat(r.reading.Claims, more) {
		if !fits(c) {
			continue
		}
		if found != nil && found.Value.Compare(c.Value, notation.Tolerance{}) != notation.Same {
			return
		}
		if found == nil || found.Value.Quantity.About {
			found = &c
		}
	}
	if found == nil {
		return
	}
	c := *found
	c.key, c.words, c.Main, c.wide = "asked", nil, true, true
	if len(r.reading.task.counted) > 0 {
		c.Subject = "number of " + r.reading.task.counting
	}
	r.reading.Claims = append(r.reading.Claims, c)
}

// amounts adds the only quantity of its dimension, or the only number of what the task
// names, to a task that asks for one.
func (r *reader) amounts() {
	dimensions := map[string]bool{}
	for _, c := range slices.Concat(r.reading.Claims, r.quantities) {
		if c.Value.Kind == notation.Number {
			dimensions[c.Value.Quantity.Dimension] = true
		}
	}
	if len(dimensions) != 1 {
		return
	}
	for dimension := range dimensions {
		named := func(c Claim) bool {
			return dimension != "" || slices.ContainsFunc(c.words, func(word string) bool { return slices.Contains(r.reading.task.words, word) })
		}
		r.answer(func(c Claim) bool { return c.Value.Kind == notation.Number && named(c) }, r.quantities)
	}
}
