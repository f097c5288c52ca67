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

// offers adds what a new session could take up: unfinished frames, and what the root that
// ended last leaves. There is nothing for a subagent, which takes up no frames.
func offers(s *project.Step, around *core.Surroundings) (err error) {
	if s.Session.Parent != "" || s.By.Parent != "" {
		return nil
	}
	if around.Unfinished, err = unfinished(s); err != nil {
		return err
	}
	around.Finished, err = finished(s)
	return err
}

// How many roots that ended last are looked at for one whose session is over, and the
// length of what is told of it, in UTF-16 code units.
const (
	maxFinished = 5
	maxLeft     = 3000
)

// finished returns the root that ended last of those that no session works in any more, if
// it left something open.
func finished(s *project.Step) (left core.Finished, err error) {
	roots, err := s.Tx.FindFrames(project.FrameQuery{
		Roots: true, Statuses: []core.Status{core.Completed, core.Failed, core.Blocked}, Order: project.RecentFirst, Limit: maxFinished,
	})
	if err != nil {
		return left, err
	}
	for _, root := range roots {
		owner, err := stack.LiveOwner(s, root)
		if err != nil {
			return left, err
		}
		if owner != "" || root.Session == s.Session.ID {
			continue
		}
		c, ok, err := project.ClosingOf(s.Tx, root)
		if err != nil || !ok || len(c.Open()) == 0 {
			return left, err
		}
		return core.Finished{Frame: root, Text: c.Text(maxLeft)}, nil
	}
	return left, nil
}

// unfinished returns the frames that sessions which have ended left unfinished: first
// those with planned or open frames below them, roots before others, then the latest
// change. Roots without work are left out.
func unfinished(s *project.Step) (left []core.Frame, err error) {
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
	below, err := project.CountChildren(s.Tx, []string{frame.ID})
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

// isLeft reports whether no session works in an unfinished frame any more. Of another
// machine's sessions only their silence is known.
func isLeft(s *project.Step, frame core.Frame) (bool, error) {
	isQuiet := s.Now-frame.UpdatedAt > core.Millis(quiet.Milliseconds())
	if frame.Foreign() {
		return isQuiet && frame.Status == core.InProgress, nil
	}
	if frame.Status == core.Blocked {
		return project.EndedWithSession(s.Tx, frame)
	}
	owner, err := stack.LiveOwner(s, frame)
	return owner == "" || isQuiet, err
}
