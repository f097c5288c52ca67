package top

import (
	"cmp"
	"slices"

	"flame/core"
)

// An order is one in which frames with the same parent are listed.
type order struct {
	name string
	less func(x, y *frame) int // nil: as they were made, of roots the newest first
}

// orders are those that a key goes through.
var orders = []order{
	{name: "time"},
	{"cost", func(x, y *frame) int { return cmp.Compare(y.Total.CostUSD, x.Total.CostUSD) }},
	{"tokens", func(x, y *frame) int { return cmp.Compare(y.Total.Tokens(), x.Total.Tokens()) }},
}

// An entry is a frame in the list that is shown.
type entry struct {
	f     *frame
	depth int
}

// A listing is the frames that are shown, and which of them is chosen.
type listing struct {
	of *model

	order   int // of orders
	folded  map[string]bool
	found   map[string]bool // by a search; nil without one
	entries []entry
	at      int    // the chosen entry
	chosen  string // the frame that a person chose; empty: none yet
	first   int    // the entry at the top of the screen
}

// list lists the frames that are shown.
func (l *listing) list() {
	wanted := l.wanted()
	l.entries = l.walk(l.entries[:0], func(f *frame) (itself, below bool) {
		if wanted != nil {
			return wanted[f], true
		}
		return f.up != nil || !f.Archived, !l.folded[f.ID]
	})
	l.find()
}

// walk appends frames in the order in which they are shown: those that are wanted
// themselves, and those below them if these are wanted too.
func (l *listing) walk(list []entry, wants func(f *frame) (itself, below bool)) []entry {
	roots := l.sorted(l.of.roots)
	if orders[l.order].less == nil {
		roots = slices.Clone(roots)
		slices.Reverse(roots)
	}
	var stack []entry
	push := func(frames []*frame, depth int) {
		for _, f := range slices.Backward(frames) {
			stack = append(stack, entry{f, depth})
		}
	}
	push(roots, 0)
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		itself, below := wants(e.f)
		if !itself {
			continue
		}
		if list = append(list, e); below {
			push(l.sorted(e.f.below), e.depth+1)
		}
	}
	return list
}

// sorted returns frames with the same parent in the order that was chosen.
func (l *listing) sorted(frames []*frame) []*frame {
	less := orders[l.order].less
	if less == nil || len(frames) < 2 {
		return frames
	}
	frames = slices.Clone(frames)
	slices.SortStableFunc(frames, less)
	return frames
}

// wanted returns what a search found, with the frames above; nil without a search.
func (l *listing) wanted() map[*frame]bool {
	if l.found == nil {
		return nil
	}
	wanted := map[*frame]bool{}
	for id := range l.found {
		for f := l.of.frames[id]; f != nil && !wanted[f]; f = f.up {
			wanted[f] = true
		}
	}
	return wanted
}

// find finds the chosen frame in the list: itself, else what is above it, else what is now
// in its place. Until a person has chosen one, it is the first.
func (l *listing) find() {
	if l.at = min(l.at, len(l.entries)-1); l.at < 0 || l.chosen == "" {
		l.at = 0
		return
	}
	above := map[*frame]bool{}
	for f := l.of.frames[l.chosen]; f != nil; f = f.up {
		above[f] = true
	}
	for i, e := range l.entries {
		if above[e.f] {
			l.at = i // what is above comes before
		}
	}
}

// current returns the chosen frame; nil if there is none.
func (l *listing) current() *frame {
	if l.at >= len(l.entries) {
		return nil
	}
	return l.entries[l.at].f
}

// choose chooses the frame at a place in the list.
func (l *listing) choose(at int) {
	l.at = max(0, min(at, len(l.entries)-1))
	if f := l.current(); f != nil {
		l.chosen = f.ID
	}
}

// reveal chooses a frame, and unfolds what is above it.
func (l *listing) reveal(f *frame) {
	for up := f.up; up != nil; up = up.up {
		delete(l.folded, up.ID)
	}
	l.chosen = f.ID
	l.list()
}

// nextAtWork returns the frame in progress after the chosen one, of those below which none
// is in progress; nil if there is none.
func (l *listing) nextAtWork() *frame {
	var all []*frame
	passed, next := false, -1
	for _, e := range l.walk(nil, func(f *frame) (itself, below bool) { return !f.Archived, true }) {
		at := len(all)
		if e.f.Status == core.InProgress && !slices.ContainsFunc(e.f.below, func(f *frame) bool { return f.Status == core.InProgress }) {
			all = append(all, e.f)
			if passed && next < 0 {
				next = at
			}
		}
		passed = passed || e.f == l.current()
	}
	if len(all) == 0 {
		return nil
	}
	return all[max(next, 0)]
}

// keep keeps to the frame that is chosen now, when the list changes.
func (l *listing) keep() {
	if f := l.current(); f != nil {
		l.chosen = f.ID
	}
}

// reorder goes on to the next order.
func (l *listing) reorder() {
	l.order = (l.order + 1) % len(orders)
	l.keep()
	l.list()
}

// only shows what a search found, with what is above it; everything for nil.
func (l *listing) only(found map[string]bool) {
	l.found = found
	l.keep()
	l.list()
}

func (l *listing) fold(f *frame, folded bool) {
	if folded {
		l.folded[f.ID] = true
	} else {
		delete(l.folded, f.ID)
	}
	l.keep()
	l.list()
}

func (l *listing) toggle() {
	if f := l.current(); f != nil && len(f.below) > 0 {
		l.fold(f, !l.folded[f.ID])
	}
}

func (l *listing) right() {
	f := l.current()
	switch {
	case f == nil || len(f.below) == 0:
	case l.folded[f.ID]:
		l.fold(f, false)
	default:
		l.choose(l.at + 1)
	}
}

func (l *listing) left() {
	f := l.current()
	switch {
	case f == nil:
	case len(f.below) > 0 && !l.folded[f.ID] && l.found == nil:
		l.fold(f, true)
	case f.up != nil:
		l.chosen = f.up.ID
		l.find()
	}
}
