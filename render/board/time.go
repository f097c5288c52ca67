package board

import (
	"cmp"
	"slices"

	"flame/core"
)

// Took returns how long work went on in the frame until now, in ms.
func (r Row) Took(now core.Millis) core.Millis {
	return max(0, cmp.Or(r.Until, r.Still, now)-r.From-r.Idle)
}

// isDue reports whether something has changed, or much time has passed since it did.
func (b *Board) isDue(last *core.Millis, changed bool) bool {
	now := b.now()
	if !changed && *last <= now && now-*last < gapsEach {
		return false
	}
	*last = now
	return true
}

// takeTimes finds out in which open frames no work goes on, and how long each frame's session
// did something else than work.
func (b *Board) takeTimes(changed bool) (anew bool) {
	now := b.now()
	if !b.isDue(&b.timed, changed) {
		return false
	}
	for _, level := range slices.Backward(b.frames.levels) {
		for _, n := range level {
			if n.From == 0 {
				continue
			}
			still := b.stillOf(n, now)
			idle := overlap(b.idle[n.Session], n.From, cmp.Or(n.Until, still, now))
			if still != n.Still || idle != n.Idle {
				n.Still, n.Idle, anew = still, idle, true
			}
		}
	}
	return anew
}

// stillOf returns since when no work goes on in an open frame and below it; 0 if some does.
// The frames below it must have theirs.
func (b *Board) stillOf(n *Node, now core.Millis) core.Millis {
	if n.Until != 0 || n.Machine != "" { // another machine's sessions are not known here
		return 0
	}
	last := b.lastWork(n, now)
	for _, child := range n.Below {
		if last == 0 || child.From != 0 && child.Until == 0 && child.Still == 0 {
			return 0
		}
		last = max(last, child.Until, child.Still)
	}
	return last
}

// lastWork returns when the session or agent of a frame worked last; 0 if it is at work.
func (b *Board) lastWork(n *Node, now core.Millis) core.Millis {
	if at, worked := b.agents[b.working[n.ID]]; worked {
		if at.State == core.AgentActive || at.State == core.AgentInitializing {
			return 0
		}
		return max(n.From, at.Last, at.Ended)
	}
	s, known := b.sessions[n.Session]
	switch {
	case !known:
		return max(n.From, n.Updated)
	case s.State == core.SessionActive && now-s.LastActivityAt < longestTurn:
		return 0
	}
	return max(n.From, s.LastActivityAt)
}

// overlap returns how much of from until until is in stretches, which are in order and apart.
func overlap(stretches []core.Interval, from, until core.Millis) (sum core.Millis) {
	first, _ := slices.BinarySearchFunc(stretches, from, func(s core.Interval, at core.Millis) int { return cmp.Compare(s.Until, at) })
	for _, s := range stretches[first:] {
		if s.From >= until {
			break
		}
		sum += max(0, min(s.Until, until)-max(s.From, from))
	}
	return sum
}
