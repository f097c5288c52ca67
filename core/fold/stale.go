package fold

import (
	"slices"

	"flame/core"
)

// A change is an edit of a conversation's past.
type change struct {
	edition int // the first that has it
	from    int // the first message whose past it changes
}

// A past sums up the changes before a message.
type past struct {
	first, last int // lowest and highest edition that left something out; 0 if there is none
	put         int // highest edition that inserted something
}

// stale returns the assistant's messages whose past has changed since the model wrote them.
// Newer models bind their thinking to everything before it. Thinking with another past must not
// be sent: all later thinking would be lost with it. A message keeps its thinking only if its
// edition is known, the same text is left out and inserted before it as under that edition, and no
// compaction has replaced its past with a summary. The ledger has only standing entries.
func (l Ledger) stale(history []Message, at places, edition func(Message) int) (stale []int) {
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

// leftOut returns the changes made by leaving out, in the order of messages.
func (l Ledger) leftOut(at places) (all []change) {
	for i := range l.Folds {
		all = append(all, change{l.Folds[i].Edition, l.Folds[i].from(at)})
	}
	for _, cut := range l.Cuts {
		all = append(all, change{cut.Edition, at[cut.Message] + 1})
	}
	return inOrder(all)
}

// putIn returns the changes made by inserting texts, in the order of messages.
func (l Ledger) putIn(at places) (all []change) {
	for _, insert := range l.Inserts {
		all = append(all, change{insert.Edition, at[insert.Message] + 1})
	}
	return inOrder(all)
}

func inOrder(all []change) []change {
	slices.SortFunc(all, func(a, b change) int { return a.from - b.from })
	return all
}

// from returns the first message whose past a fold changes.
func (f *Fold) from(at places) int {
	from := at[f.Upto]
	for _, name := range f.Drop {
		if i, stands := at[name]; stands {
			from = min(from, i+1)
		}
	}
	for _, cut := range f.Cuts {
		if i, stands := at[cut.Message]; stands {
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
