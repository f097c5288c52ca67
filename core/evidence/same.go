package evidence

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"github.com/samber/lo"

	"flame/core"
)

// What two wordings of one item have in common at least, and bounds of their comparison by characters, whose
// time grows with their product.
const (
	alikeWords  = 0.5
	alikeText   = 0.6
	maxPairs    = 400
	maxCompared = 80 // characters
)

// find returns the list of which items are a new version, and its item for each of them; nil if there is
// none. Only the last list can have been worded anew.
func (l *Lists) find(items []Item, prompted bool) (found *List, same []*Item) {
	most := 0
	for i, list := range slices.Backward(l.All) {
		matched := list.equal(items)
		if i == len(l.All)-1 {
			list.reworded(items, matched, func(a, b string) bool { return sharedWords(a, b) >= alikeWords })
		}
		count := len(items) - lo.Count(matched, nil)
		over := list.open() == 0 && prompted && 2*count < len(items) // the user then asked for something else
		if count > most && !over {
			found, same, most = list, matched, count
		}
	}
	if found != nil && found == l.All[len(l.All)-1] {
		found.reworded(items, same, alike)
	}
	return found, same
}

// equal returns, for each of items, the item of the list with the same text. Of several it prefers one that
// is as open, or as ended, as the new one; else it takes the first.
func (l *List) equal(items []Item) []*Item {
	known := lo.GroupBy(l.Items, (*Item).key)
	return lo.Map(items, func(now Item, _ int) *Item {
		all := lo.Filter(known[now.key()], func(i *Item, _ int) bool { return i.Status.open() || i.Status == ItemDone && now.Status != ItemDropped })
		if len(all) == 0 {
			return nil
		}
		first := all[max(0, slices.IndexFunc(all, func(i *Item) bool { return i.Status.open() == now.Status.open() }))]
		known[now.key()] = lo.Without(known[now.key()], first)
		return first
	})
}

// reworded adds open items with a text like that of one of items: the one at the same place, counted from
// the item before it, else the only one.
func (l *List) reworded(items []Item, same []*Item, like func(a, b string) bool) {
	free := lo.Filter(l.Items, func(i *Item, _ int) bool { return i.Status.open() && !slices.Contains(same, i) })
	if len(free)*lo.Count(same, nil) > maxPairs {
		return
	}
	place := 0
	for i, now := range items {
		if same[i] == nil {
			all := lo.Filter(free, func(old *Item, _ int) bool { return like(old.Text, now.Text) })
			if place < len(l.Items) && slices.Contains(all, l.Items[place]) {
				same[i] = l.Items[place]
			} else if len(all) == 1 {
				same[i] = all[0]
			}
			free = lo.Without(free, same[i])
		}
		if place++; same[i] != nil {
			place = slices.Index(l.Items, same[i]) + 1
		}
	}
}

// key is equal for items that are the same.
func (i *Item) key() string {
	if i.ID != "" {
		return "#" + i.ID
	}
	return plain(i.Text)
}

// plain returns a text in lower case, without a number or sign before it and without punctuation behind it.
func plain(text string) string {
	text = strings.TrimLeftFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
}

// SameGoal reports whether two texts are the same goal, but for articles, case and punctuation.
func SameGoal(a, b string) bool {
	return a == b || plain(a) != "" && plain(a) == plain(b) || sharedWords(a, b) == 1
}

// sharedWords returns the share, 0 to 1, of the words that carry meaning that two texts have in common. Texts
// with other numbers share none.
func sharedWords(a, b string) float64 {
	one, other := core.Keywords(a), core.Keywords(b)
	both := len(lo.Intersect(one, other))
	if both == 0 || numbers(a) != numbers(b) {
		return 0
	}
	return float64(both) / float64(len(one)+len(other)-both)
}

// alike reports whether two texts have much the same characters, and the same numbers.
func alike(a, b string) bool {
	one, other := core.Head(plain(a), maxCompared), core.Head(plain(b), maxCompared)
	longer := max(len([]rune(one)), len([]rune(other)), 1)
	return numbers(a) == numbers(b) && 1-float64(levenshtein.ComputeDistance(one, other))/float64(longer) >= alikeText
}

// numbers returns the numbers in a text, but for one before it.
func numbers(text string) string {
	return strings.Join(strings.FieldsFunc(plain(text), func(r rune) bool { return !unicode.IsDigit(r) }), " ")
}
