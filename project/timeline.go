package project

import (
	"cmp"
	"slices"

	"flame/core"
)

const recordWorked Kind[timeline] = "worked" // by session: when it began to work in which frame

// A timeline says in which frame a session worked from when on, oldest first.
type timeline []workedIn

type workedIn struct {
	At    core.Millis `json:"at"`
	Frame string      `json:"frame"`
}

// at returns the frame that was worked in at time t; home where nothing is known.
func (l timeline) at(t core.Millis, home string) string {
	if len(l) == 0 {
		return home
	}
	return l[l.index(t)].Frame
}

// index returns the entry for time t: the last that is not later, else the first.
func (l timeline) index(t core.Millis) int {
	later := slices.IndexFunc(l, func(w workedIn) bool { return w.At > t })
	if later < 0 {
		later = len(l)
	}
	return max(0, later-1)
}

// maxWorked bounds a timeline that nobody counts by; a session whose log is known
// is counted at each change of its frame, which keeps it at a few entries.
const maxWorked = 100

func (s *step) worked(session string) (l timeline, err error) {
	_, err = recordWorked.Load(s, session, &l)
	return l, err
}

// moved keeps that the caller's session works in another frame from now on,
// where that is so; before is how it was. What it did until now is counted soon.
func (s *step) moved(before core.Session) error {
	frame := s.session.Current
	if frame == "" || frame == before.Current || s.by.anonymous() {
		return nil
	}
	l, err := s.worked(s.session.ID)
	if err != nil {
		return err
	}
	if len(l) == 0 { // what came before it was done in the frame it leaves, or in the root
		l = timeline{{Frame: cmp.Or(before.Current, before.Root, s.session.Root)}}
	}
	if l = append(l, workedIn{s.now, frame}); len(l) > maxWorked {
		l = l[len(l)-maxWorked:]
	}
	if err := recordWorked.Save(s, s.session.ID, l); err != nil {
		return err
	}
	return s.countLater("")
}

// forgetBefore drops what lies before the entry for time t.
func (s *step) forgetBefore(session string, l timeline, t core.Millis) error {
	if len(l) == 0 || l.index(t) == 0 {
		return nil
	}
	return recordWorked.Save(s, session, l[l.index(t):])
}
