// Package merge makes one tree of what several machines wrote. Each machine keeps a document for
// every frame, with the machine and the time of each entry. Documents of one frame merge into the
// same result in any order and however often they arrive. The package uses no network, no store
// and no clock.
//
// A frame's work (goal, status, summary, …) belongs to the machine whose session works in it: the
// last machine that took the frame over wins, with its latest values. Decisions, artifacts and
// planned children are sets to which every machine adds. Any machine can invalidate a frame, for
// ever. Usage is counted for each machine and added up.
package merge

import (
	"cmp"
	"math"

	"flame/core"
)

// A Timestamp is a point in the history of all machines: a hybrid logical clock (Kulkarni and
// others, 2014, "Logical Physical Clocks"). A machine's new stamp is later than all stamps that it
// has seen, even if the machines' clocks differ.
type Timestamp struct {
	At      core.Millis `json:"at"`          // of the wall clock, or of a later stamp that was seen
	Count   int64       `json:"n,omitempty"` // distinguishes stamps of one millisecond
	Machine string      `json:"m"`           // id of the machine that made it
}

// Compare orders stamps: by time, then by machine.
func (s Timestamp) Compare(t Timestamp) int {
	return cmp.Or(cmp.Compare(s.At, t.At), cmp.Compare(s.Count, t.Count), cmp.Compare(s.Machine, t.Machine))
}

// IsZero reports whether s is unset.
func (s Timestamp) IsZero() bool { return s == Timestamp{} }

// A Clock makes the stamps of one machine. A new clock has only Machine set. Processes have to
// store and share it: otherwise two processes could give the same stamp to different things.
type Clock struct {
	Machine string      `json:"machine"`
	At      core.Millis `json:"at"`
	Count   int64       `json:"n"`
}

// maxCount is the greatest Count of a stamp.
const maxCount = math.MaxInt32

// Tick returns a stamp later than all stamps that the clock has made or seen; now is the time of
// the wall clock.
func (c *Clock) Tick(now core.Millis) Timestamp {
	switch {
	case c.At > now+maxAhead/2: // the wall clock was wrong before
		c.At, c.Count = now, 0
	case now > c.At:
		c.At, c.Count = now, 0
	case c.Count < maxCount:
		c.Count++
	default:
		c.At, c.Count = c.At+1, 0
	}
	return Timestamp{c.At, c.Count, c.Machine}
}

// Observe makes later stamps be later than s, unless s is so far ahead of the wall clock, whose time is
// now, that other machines might refuse them.
func (c *Clock) Observe(s Timestamp, now core.Millis) {
	if s.At > now+maxAhead/2 {
		return
	}
	if s.At > c.At || s.At == c.At && s.Count > c.Count {
		c.At, c.Count = s.At, s.Count
	}
}
