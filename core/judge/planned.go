package judge

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// takesUp returns the goal of the planned child that the prompt takes up; empty if there is none.
func (r *reading) takesUp() (best string) {
	planned := r.Frame.Planned
	if len(planned) == 0 || r.is("pasted") || r.is("question") && r.ask == asksNothing {
		return ""
	}
	if r.is("as planned") {
		return planned[0]
	}
	orders := lo.FlatMap(r.sentences, func(c clause, _ int) []order { return c.orders() })
	goal, most := stems(r.Frame.Goal), 0.0
	for _, child := range latest(planned, maxLatest) {
		own := slices.DeleteFunc(stems(head(child, maxText)), func(stem string) bool { return slices.Contains(goal, stem) })
		for _, o := range orders {
			if named := o.names(own, r.turn != stays); named > most {
				best, most = child, named
			}
		}
	}
	return best
}

// An order is a sentence that may tell the agent to begin a planned child.
type order struct {
	about []string // stems of what it is about
	ask   int
	words int
}

// orders returns the sentence and its last clause, unless they put something off or report a
// defect.
func (c clause) orders() (list []order) {
	for _, part := range []clause{c, c.last()} {
		if len(part.words) > 0 && !part.left && !part.whole.has("putting off") && !part.whole.has("defects") {
			ask, _ := part.asked()
			list = append(list, order{stems(part.text), ask, len(part.words)})
		}
	}
	return list
}

// last returns the last clause of the sentence.
func (c clause) last() clause {
	for n := len(c.words) - 1; n > 0; n-- {
		if c.commaBefore(n) {
			return clauseOf(c.from(n))
		}
	}
	return c
}

// names returns the weight of a planned child's own words in the order; 0 if the order does not
// begin that child.
func (o order) names(own []string, turned bool) float64 {
	both := lo.Intersect(o.about, own)
	if len(both) == 0 {
		return 0
	}
	shared := weightOf(both)
	alone := len(both) == len(o.about) && o.words <= 3
	if shared >= weightOf(o.about)/2 && (turned || o.ask > asksNothing || alone) ||
		(turned || len(both) > 1 || o.ask == asksNew && shared >= 1) && shared >= weightOf(own)/2 {
		return shared
	}
	return 0
}

// maxOrder is how many words an order without a verb has at most: a longer sentence says
// something about the work.
const maxOrder = 6

// Begins reports whether a prompt explicitly begins a planned piece of work, as in "now the
// exporter" or "write the exporter", so that flame may begin it without asking. Mentioning it,
// comparing it or putting it off is not enough.
func Begins(prompt, goal string) bool {
	own := stems(core.Cut(goal, maxText))
	isOwn := func(word string) bool { return slices.Contains(own, stemOf(word)) }
	return slices.ContainsFunc(statements(core.Cut(prompt, maxText)), func(s sentence) bool {
		if s.asks || s.has("putting off") || s.has("defects") || s.has("not now") {
			return false
		}
		words := s.words
		for len(words) > 1 && slices.ContainsFunc([]string{"closing", "over", "fillers", "leading"}, func(name string) bool { return list(name).Has(words[0]) }) {
			words = words[1:]
		}
		return slices.ContainsFunc(words, isOwn) && (list("starting").Has(words[0]) || isOwn(words[0]) && len(words) <= maxOrder)
	})
}

// minMore is how many telling words make a wish.
const minMore = 2

// AsksForMore reports whether a prompt that starts no other work asks for more of the current
// work, so that the frame should not end: a correction, a defect, a further wish. A request to
// continue, consent, praise, thanks and messages that a host writes itself ask for nothing new.
func AsksForMore(prompt string) bool {
	prompt = core.Cut(prompt, maxText)
	if ofHost(prompt) || core.SaysGoOn(prompt) {
		return false
	}
	said := statements(prompt)
	if anyHas(said, "defects") || anyHas(said, "taking back") {
		return true
	}
	if len(said) > 0 && list("closing").Has(said[0].words[0]) && !slices.ContainsFunc(said, func(s sentence) bool { return s.asks || s.has("turning") }) {
		return false
	}
	wish := slices.DeleteFunc(core.Keywords(prompt), func(word string) bool { return list("closing").Has(word) || list("keeping").Has(word) })
	return len(wish) >= minMore || len(wish) > 0 && strings.Contains(prompt, "?")
}
