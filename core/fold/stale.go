package fold

import (
	"slices"

	"flame/core"
)

// A change is an edit of a conversation's past.
type change struct {
	edition int // the first that has it
	from    int // the first message that has another past for it
}

// A past is what the changes before a message come to.
type past struct {
	first, last int // lowest and highest edition that left something out; 0 if nothing did
	put         int // highest edition that put something in
}

// stale returns the assistant's messages whose past is not what it was when the model
// wrote them. Newer models bind their thinking to all that stood before it; what is no
// longer so bound must not be sent, or all that comes later is lost as well. A message
// keeps its thinking only if its edition is known, what is left out and put in before it
// is the same now as under that edition, and no compaction has put a summary in the
// place of its past.
func (l Ledger) stale(history []Message, at map[string]int, edition func(Message) int) (stale []int) {
	left, put := l.leftOut(at), l.putIn(at)
	var now past
	start, kept := compacted(history)
	for i, m := range history {
		for ; len(left) > 0 && left[0].from <= i; left = left[1:] {
			if now.first == 0 || left[0].edition < now.first {
				now.first = left[0].edition
			}
			now.last = max(now.last, left[0].edition)
		}
		for ; len(put) > 0 && put[0].from <= i; put = put[1:] {
			now.put = max(now.put, put[0].edition)
		}
		behind := start > 0 && start-1 <= i && i < kept // the summary, and what the compaction kept
		if m.Role == core.RoleAssistant && (behind || !l.fits(now, edition(m))) {
			stale = append(stale, i)
		}
	}
	return stale
}

// fits reports whether a past is the same now as under an edition.
func (l Ledger) fits(now past, edition int) bool {
	switch {
	case edition == Unknown || edition < now.put:
		return false
	case now.first == 0:
		return true
	case l.Whole():
		return l.wholeAt(edition) || edition < now.first
	}
	return !l.wholeAt(edition) && edition >= now.last
}

// leftOut returns the changes by what the ledger leaves out, in the order of messages.
func (l Ledger) leftOut(at map[string]int) (all []change) {
	for i := range l.Folds {
		if f := &l.Folds[i]; f.holds(at) {
			all = append(all, change{f.Edition, f.from(at)})
		}
	}
	for _, cut := range l.Cuts {
		if i, stands := at[cut.Message]; stands {
			all = append(all, change{cut.Edition, i + 1})
		}
	}
	return inOrder(all)
}

// putIn returns the changes by texts, in the order of messages.
func (l Ledger) putIn(at map[string]int) (all []change) {
	for _, insert := range l.Inserts {
		if i, stands := at[insert.Message]; stands {
			all = append(all, change{insert.Edition, i + 1})
		}
	}
	return inOrder(all)
}

func inOrder(all []change) []change {
	slices.SortFunc(all, func(a, b change) int { return a.from - b.from })
	return all
}

// from returns the first message that has another past for a fold.
func (f *Fold) from(at map[string]int) int {
	from := at[f.Upto]
	for _, name := range f.Drop {
		if i, stands := at[name]; stands {
			from = min(from, i+1)
		}
	}
	for _, note := range f.Notes {
		if i, stands := at[note.Before]; stands {
			from = min(from, i)
		}
	}
	return from
}
