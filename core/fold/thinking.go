package fold

import (
	"slices"

	"flame/core"
)

// A change is an edit of a conversation's past.
type change struct {
	edition int  // the first that has it
	from    int  // the first message whose past it changes
	puts    bool // it inserts something, instead of leaving something out
}

// A past sums up the changes before a message.
type past struct {
	first, last int // lowest and highest edition that left something out; 0 if there is none
	put         int // highest edition that inserted something
}

// add counts a change.
func (p *past) add(c change) {
	if c.puts {
		p.put = max(p.put, c.edition)
		return
	}
	if p.first == 0 || c.edition < p.first {
		p.first = c.edition
	}
	p.last = max(p.last, c.edition)
}

// stale returns the assistant's messages whose past has changed since the model wrote them.
// Newer models bind their thinking to everything before it. Thinking with another past must not
// be sent: all later thinking would be lost with it. A message keeps its thinking only if its
// edition is known, the same text is left out and inserted before it as under that edition, and no
// compaction has replaced its past with a summary. The ledger has only standing entries.
func (l Ledger) stale(history []Message, at places, edition func(Message) int) (stale []int) {
	changes := l.changes(at)
	var now past
	start, kept := compacted(history)
	for i, m := range history {
		for ; len(changes) > 0 && changes[0].from <= i; changes = changes[1:] {
			now.add(changes[0])
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
	case l.Disabled():
		return l.wholeAt(edition) || edition < now.first
	}
	return !l.wholeAt(edition) && edition >= now.last
}

// changes returns the changes that the ledger makes, in the order of messages.
func (l Ledger) changes(at places) (all []change) {
	for i := range l.Folds {
		all = append(all, change{edition: l.Folds[i].Edition, from: l.Folds[i].from(at)})
	}
	for _, cut := range l.Cuts {
		all = append(all, change{edition: cut.Edition, from: at[cut.Message] + 1})
	}
	for _, insert := range l.Inserts {
		all = append(all, change{insert.Edition, at[insert.Message] + 1, true})
	}
	slices.SortFunc(all, func(a, b change) int { return a.from - b.from })
	return all
}

// from returns the first message whose past a fold changes.
func (f *Fold) from(at places) int {
	from := at[f.EndMessage]
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
