package board

import (
	"cmp"
	"slices"

	"flame/core"
)

// All in ms.
const (
	gap         = 60 * 1000      // the shortest stretch without work that pictures fold, when they show little else
	gapsEach    = 3000           // between two searches for gaps, which take long with many frames
	longestTurn = 60 * 60 * 1000 // how long a session without events counts as working: hosts may end without an event
)

// takeGaps searches for gaps if they may have changed.
func (b *Board) takeGaps(changed bool) (anew bool) {
	now := b.now()
	b.gapsDue = b.gapsDue || changed
	if !b.gapsDue || b.gapsFound != 0 && b.gapsFound <= now && now-b.gapsFound < gapsEach {
		return false
	}
	b.gapsDue, b.gapsFound = false, now
	return set(&b.gaps, gapsOf(b.works(now)))
}

// maxGaps is how many gaps a board has at most: the longest ones.
const maxGaps = 1000

// gapsOf returns the stretches of at least gap between works.
func gapsOf(works []core.Interval) []core.Interval {
	slices.SortFunc(works, func(x, y core.Interval) int { return cmp.Compare(x.From, y.From) })
	gaps := []core.Interval{}
	var until core.Millis
	for i, w := range works {
		if i > 0 && w.From-until >= gap {
			gaps = append(gaps, core.Interval{From: until, Until: w.From})
		}
		until = max(until, w.From, w.Until)
	}
	if len(gaps) > maxGaps {
		size := func(g core.Interval) core.Millis { return g.Until - g.From }
		slices.SortStableFunc(gaps, func(x, y core.Interval) int { return cmp.Compare(size(y), size(x)) })
		gaps = gaps[:maxGaps]
		slices.SortFunc(gaps, func(x, y core.Interval) int { return cmp.Compare(x.From, y.From) })
	}
	return gaps
}

// works returns the stretches with work: sessions without their idle stretches, agents from
// start to end, and frames without a known session.
func (b *Board) works(now core.Millis) (works []core.Interval) {
	for _, n := range b.frames.all {
		if _, known := b.sessions[n.Session]; !known && n.From != 0 {
			works = append(works, core.Interval{From: n.From, Until: n.Until})
		}
	}
	for _, s := range b.sessions {
		until := s.LastActivityAt
		if s.State == core.SessionActive {
			until = max(until, min(now, until+longestTurn))
		}
		from := s.CreatedAt
		for _, idle := range b.idle[s.ID] {
			works = append(works, core.Interval{From: from, Until: idle.From})
			from = idle.Until
		}
		works = append(works, core.Interval{From: from, Until: until})
	}
	for _, a := range b.agents {
		works = append(works, core.Interval{From: a.Asked, Until: cmp.Or(a.Ended, a.Last)})
	}
	return works
}
