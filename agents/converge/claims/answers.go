package claims

import (
	"slices"

	"github.com/samber/lo"
)

// finish adds the claims that need the whole text: its only list, and its only value of the
// kind that the task asks for.
func (r *reader) finish() {
	for _, c := range r.lists {
		if len(r.lists) > 1 && !slices.ContainsFunc(r.Claims, func(other Claim) bool { return other.unit == c.unit }) {
			r.unread++
		}
	}
	if len(r.lists) == 0 {
		for _, c := range r.Claims {
			if c.Value.Kind == Set && c.Field == "" && !c.prose {
				r.lists = append(r.lists, c)
			}
		}
	}
	if len(r.lists) == 1 {
		c := r.lists[0]
		c.key, c.words, c.wide = "list", nil, true
		r.Claims = append(r.Claims, c)
	}
	if r.task.is["yes or no"] {
		r.affirm()
	}
	number := func(c Claim) bool { return c.Value.Kind == Number }
	about := func(word string) func(Claim) bool {
		return func(c Claim) bool { return number(c) && slices.Contains(c.words, word) }
	}
	switch t := r.task; {
	case len(t.counted) > 0:
		r.answer(about(t.counted[0]), "number of "+t.counts)
	case t.is["amount"] && !t.is["several"]:
		// the only quantity, or the only number of a thing that the task names
		numbers := lo.Filter(slices.Concat(r.Claims, r.loose), func(c Claim, _ int) bool { return number(c) })
		if dimensions := lo.UniqMap(numbers, func(c Claim, _ int) string { return c.Value.number.dimension }); len(dimensions) == 1 {
			r.answer(func(c Claim) bool { return number(c) && (dimensions[0] != "" || lo.Some(c.words, t.words)) }, "")
		}
	case t.wanted == Prose && t.named != "" && !t.is["several"]:
		r.answer(about(t.named), "")
	case t.wanted != Prose:
		r.answer(func(c Claim) bool { return c.Value.Kind == t.wanted && !c.prose }, "")
	}
	if len(r.Claims) < 2 {
		r.identity = nil
	}
}

// affirm adds the answer to a yes-or-no question if the text repeats the words of the question.
func (r *reader) affirm() {
	var found []Claim
	for _, c := range r.Claims {
		if c.key == "answer" {
			return
		}
		if c.Value.Kind == Truth && len(c.words) > 0 && len(c.scope) == 0 && lo.Every(r.task.words, c.words) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		c := found[0]
		c.key, c.words, c.main, c.wide, c.extra = "answer", []string{"answer"}, true, true, false
		r.Claims = append(r.Claims, c)
	}
}

// answer adds the claim that answers a question if all fitting values are equal.
func (r *reader) answer(fits func(Claim) bool, subject string) {
	var found *Claim
	for _, c := range slices.Concat(r.Claims, r.loose) {
		if !fits(c) {
			continue
		}
		if found != nil && found.Value.Compare(c.Value, Tolerance{}) != Same {
			return
		}
		if found == nil || found.Value.number.about {
			found = &c
		}
	}
	if found == nil {
		return
	}
	c := *found
	c.key, c.words, c.main, c.wide = "asked", nil, true, true
	if subject != "" {
		c.Subject = subject
	}
	r.Claims = append(r.Claims, c)
}
