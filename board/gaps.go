package board

import (
	"cmp"
	"slices"

	"flame/core"
)

// gap is from how much time on, in ms, a stretch without work is one that pictures fold.
const gap = 10 * 60 * 1000

// gapsEach is how often, in ms, the gaps are found anew while things change.
const gapsEach = 3000

// busy is when frames of nobody's session were worked in.
type busy struct {
	works []core.Stretch // by time, with a gap between any two
	stale bool           // it has to be found anew from all frames
	due   bool           // gaps may have changed since they were found
	found core.Millis    // when gaps were found last
}

// add adds a stretch to those it is near to.
func (y *busy) add(w core.Stretch) {
	from, _ := slices.BinarySearchFunc(y.works, w.From, func(s core.Stretch, at core.Millis) int {
		return cmp.Compare(s.Until+gap-1, at)
	})
	until := from
	for ; until < len(y.works) && y.works[until].From-w.Until < gap; until++ {
		w.From, w.Until = min(w.From, y.works[until].From), max(w.Until, y.works[until].Until)
	}
	y.works = slices.Replace(y.works, from, until, w)
}

// takeGaps finds the gaps anew where they may have changed, though not each time: that
// takes long among many sessions.
func (b *Board) takeGaps(changed bool, version int64) (anew bool) {
	y, now := &b.busy, b.now()
	y.due = y.due || changed
	if !y.due || b.gaps.at != 0 && y.found <= now && now-y.found < gapsEach {
		return false
	}
	y.due, y.found = false, now
	if y.stale {
		*y = busy{found: now}
		for _, n := range b.frames.nodes {
			if w, ok := b.workOf(n.row); ok {
				y.add(w)
			}
		}
	}
	return b.gaps.set(gapsOf(b.works(now)), version)
}

// note takes in that a row is to be put onto the board.
func (b *Board) note(row Row) {
	w, ok := b.workOf(row)
	if n := b.frames.nodes[row.ID]; n != nil {
		was, had := b.workOf(n.row)
		b.busy.stale = b.busy.stale || had && (!ok || was.From < w.From || was.Until > w.Until)
	}
	if ok {
		b.busy.add(w)
	}
}

// workOf returns when a frame of nobody's session was worked in.
func (b *Board) workOf(row Row) (w core.Stretch, ok bool) {
	_, known := b.sessions[row.Session]
	return core.Stretch{From: row.From, Until: max(row.From, row.Until)}, !known && row.From != 0
}

// gapsOf returns the stretches of at least gap between works in which there was none.
func gapsOf(works []core.Stretch) []core.Stretch {
	slices.SortFunc(works, func(x, y core.Stretch) int { return cmp.Compare(x.From, y.From) })
	gaps := []core.Stretch{}
	var until core.Millis
	for i, w := range works {
		if i > 0 && w.From-until >= gap {
			gaps = append(gaps, core.Stretch{From: until, Until: w.From})
		}
		until = max(until, w.From, w.Until)
	}
	return gaps
}

// works returns when somebody worked: sessions but for the times in which they were idle,
// agents from their start to their end, and frames of nobody's session.
func (b *Board) works(now core.Millis) []core.Stretch {
	works := slices.Clone(b.busy.works)
	for _, s := range b.sessions {
		until := s.LastActivityAt
		if s.State == core.SessionActive {
			until = max(until, min(now, until+longestTurn))
		}
		from := s.CreatedAt
		for _, idle := range b.idle[s.ID] {
			works = append(works, core.Stretch{From: from, Until: idle.From})
			from = idle.Until
		}
		works = append(works, core.Stretch{From: from, Until: until})
	}
	for _, a := range b.agents {
		works = append(works, core.Stretch{From: a.value.Asked, Until: cmp.Or(a.value.Ended, a.value.Last)})
	}
	return works
}

// longestTurn is for how long, in ms, a session of which nothing is heard is taken to work
// on: hosts end without a word.
const longestTurn = 60 * 60 * 1000
