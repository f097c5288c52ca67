// Package merge makes one tree of what several machines wrote. Each machine keeps, of
// every frame, a document that says which machine wrote what and when; documents of one
// frame merge into the same whatever their order and however often they arrive. No
// network, no store, no clock.
//
// A frame's work (goal, status, summary, …) belongs to the machine whose session works in
// it: the last who took it over wins, and of what that machine wrote the latest. Decisions,
// artifacts and planned children are sets to which every machine adds. An invalidation is
// for ever, whoever made it. Usage is counted by machine and added up.
package merge

import (
	"cmp"
	"math"

	"flame/core"
)

// A Stamp is a point in the history of all machines: a hybrid logical clock (Kulkarni and
// others, 2014, "Logical Physical Clocks"). A stamp that was made after another was seen is
// later than that, whatever the clocks of their machines say.
type Stamp struct {
	At      core.Millis `json:"at"`          // of the wall clock, or of a later stamp that was seen
	Count   int64       `json:"n,omitempty"` // tells apart those of one millisecond
	Machine string      `json:"m"`           // id of the machine that made it
}

// Compare orders stamps: by time, then by machine.
func (s Stamp) Compare(t Stamp) int {
	return cmp.Or(cmp.Compare(s.At, t.At), cmp.Compare(s.Count, t.Count), cmp.Compare(s.Machine, t.Machine))
}

// IsZero reports whether s says nothing.
func (s Stamp) IsZero() bool { return s == Stamp{} }

// A Clock makes the stamps of one machine. Its zero value but for Machine is one that has
// seen nothing. It is kept between processes: two that forget what the other gave out
// would give the same stamp to different things.
type Clock struct {
	Machine string      `json:"machine"`
	At      core.Millis `json:"at"`
	Count   int64       `json:"n"`
}

// maxCount is the greatest Count of a stamp.
const maxCount = math.MaxInt32

// Tick returns a stamp that is later than all that were made or seen; now is the time of
// the wall clock.
func (c *Clock) Tick(now core.Millis) Stamp {
	switch {
	case c.At > now+maxAhead/2: // the wall clock was wrong once
		c.At, c.Count = now, 0
	case now > c.At:
		c.At, c.Count = now, 0
	case c.Count < maxCount:
		c.Count++
	default:
		c.At, c.Count = c.At+1, 0
	}
	return Stamp{c.At, c.Count, c.Machine}
}

// See has later stamps be later than s, unless s is so far ahead of the wall clock, whose
// time is now, that others might refuse them.
func (c *Clock) See(s Stamp, now core.Millis) {
	if s.At > now+maxAhead/2 {
		return
	}
	if s.At > c.At || s.At == c.At && s.Count > c.Count {
		c.At, c.Count = s.At, s.Count
	}
}
