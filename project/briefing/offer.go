package briefing

import (
	"cmp"
	"slices"
	"time"

	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// maxOrphans is how many frames of each kind are searched for those that no session works
// in any more.
const maxOrphans = 50

// quiet is how long a frame must have been unchanged to be offered although its session
// is not known to have ended: a host that was killed reports no end.
const quiet = 12 * time.Hour

// orphans are the frames that may be unfinished work of sessions that have ended.
var orphans = []project.FrameQuery{
	{Roots: true, Statuses: []core.Status{core.InProgress}},
	{Statuses: []core.Status{core.InProgress}},
	{Roots: true, Statuses: []core.Status{core.Blocked}}, // by the end of their sessions
}

// An offer is a frame that a new session may take up.
type offer struct {
	core.Frame
	rank int // what has work left below it comes first, and whole trees before parts of them
}

// place returns the frame that the caller's session works in, or will with its next
// prompt: a root that ended with the session. ok is false without one.
func place(s *project.Step) (frame core.Frame, ok bool, err error) {
	if frame, ok, err = s.Current(); ok || err != nil {
		return frame, ok, err
	}
	if frame, ok, err = s.ResumableRoot(); ok {
		frame.Status, frame.EndedAt = core.InProgress, 0
	}
	return frame, ok, err
}

// unfinished returns the frames that sessions which have ended left unfinished: first
// those with planned or open frames below them, roots before others, then the latest
// change. Roots without work are left out. There are none for a subagent, which takes up
// no frames.
func unfinished(s *project.Step) (left []core.Frame, err error) {
	if s.Session.Parent != "" || s.By.Parent != "" {
		return nil, nil
	}
	var offers []offer
	for _, q := range orphans {
		q.Order, q.Limit = project.RecentFirst, maxOrphans
		found, err := s.Tx.FindFrames(q)
		if err != nil {
			return nil, err
		}
		for _, frame := range found {
			if slices.ContainsFunc(offers, func(o offer) bool { return o.ID == frame.ID }) {
				continue
			}
			rank, err := rankOf(s, frame)
			if err != nil {
				return nil, err
			}
			if rank > 0 {
				offers = append(offers, offer{frame, rank})
			}
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.UpdatedAt, a.UpdatedAt))
	})
	for _, o := range offers {
		left = append(left, o.Frame)
	}
	return left, nil
}

// rankOf returns the rank of a frame among the offers; 0 if it is not to be offered.
func rankOf(s *project.Step, frame core.Frame) (int, error) {
	if mine := frame.Session == s.Session.ID; mine {
		return 0, nil
	}
	isLeft, err := isLeft(s, frame)
	if err != nil || !isLeft {
		return 0, err
	}
	below, err := s.Tx.CountChildren([]string{frame.ID})
	if err != nil {
		return 0, err
	}
	children := below[frame.ID]
	root := frame.Parent == ""
	switch work := len(frame.Artifacts)+len(frame.Decisions)+project.Total(children) > 0; {
	case root && !work:
		return 0, nil
	case root && frame.Status == core.InProgress: // else it would have ended with its session
		return 3, nil
	case children[core.Planned]+children[core.InProgress] > 0:
		return 2, nil
	}
	return 1, nil
}

// isLeft reports whether no session works in an unfinished frame any more.
func isLeft(s *project.Step, frame core.Frame) (bool, error) {
	if frame.Status == core.Blocked {
		return project.EndedWithSession(s.Tx, frame)
	}
	owner, err := stack.LiveOwner(s, frame)
	return owner == "" || s.Now-frame.UpdatedAt > core.Millis(quiet.Milliseconds()), err
}
