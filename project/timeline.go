package project

import (
	"cmp"
	"slices"

	"flame/core"
)

const recordWorked Kind[Timeline] = "worked" // by session: when it began to work in which frame

// A Timeline lists the frames a session worked in, and since when, oldest first.
type Timeline []workedIn

type workedIn struct {
	At    core.Millis `json:"at"`
	Frame string      `json:"frame"`
}

// At returns the frame that the session worked in at time t; home if none is known.
func (l Timeline) At(t core.Millis, home string) string {
	if len(l) == 0 {
		return home
	}
	return l[l.index(t)].Frame
}

// index returns the index of the entry for time t: the last that is not later, else the
// first.
func (l Timeline) index(t core.Millis) int {
	later := slices.IndexFunc(l, func(w workedIn) bool { return w.At > t })
	if later < 0 {
		later = len(l)
	}
	return max(0, later-1)
}

// maxWorked limits a timeline by which nothing is counted. A session whose log is known
// is counted at each change of its frame, which keeps its timeline at a few entries.
const maxWorked = 100

// TimelineOf returns the timeline of a session.
func TimelineOf(tx Tx, session string) (l Timeline, err error) {
	_, err = recordWorked.Load(tx, session, &l)
	return l, err
}

// noteMove extends the timeline of the caller's session if it works in another frame than
// before, and has its usage until now counted soon.
func noteMove(s *Step, before core.Session) error {
	frame := s.Session.Current
	if frame == "" || frame == before.Current || s.By.Anonymous() {
		return nil
	}
	// What came before it was done in the frame it leaves, or in the root.
	if err := worksIn(s, s.Session.ID, cmp.Or(before.Current, before.Root, s.Session.Root), frame); err != nil {
		return err
	}
	return s.CountLater("")
}

// worksIn extends the timeline of a session that works in frame from now on; before it
// began to be kept, the session worked in first.
func worksIn(s *Step, session, first, frame string) error {
	l, err := TimelineOf(s.Tx, session)
	if err != nil {
		return err
	}
	if len(l) == 0 {
		l = Timeline{{Frame: first}}
	}
	if l = append(l, workedIn{s.Now, frame}); len(l) > maxWorked {
		l = l[len(l)-maxWorked:]
	}
	return recordWorked.Save(s.Tx, session, l)
}

// MoveWork counts what the caller's session did in frame from as work in frame to.
func MoveWork(s *Step, from, to string) error {
	l, err := TimelineOf(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	if len(l) == 0 {
		l = Timeline{{Frame: to}}
	}
	for i := range l {
		if l[i].Frame == from {
			l[i].Frame = to
		}
	}
	return recordWorked.Save(s.Tx, s.Session.ID, l)
}

// ForgetBefore drops what precedes the entry for time t in the timeline l of a session.
func ForgetBefore(tx Tx, session string, l Timeline, t core.Millis) error {
	if len(l) == 0 || l.index(t) == 0 {
		return nil
	}
	return recordWorked.Save(tx, session, l[l.index(t):])
}
