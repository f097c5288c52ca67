package briefing

import (
	"cmp"
	"slices"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// maxOrphans limits the frames of each kind among which flame looks for those in which no
// session works any more.
const maxOrphans = 50

// quiet is how long a frame must be unchanged before flame offers it although it does not
// know that the session has ended: a host that was killed reports no end.
const quiet = 12 * time.Hour

// orphans are the frames that may be unfinished work of sessions that have ended.
var orphans = []project.FrameQuery{
	{Roots: true, Statuses: []core.Status{core.InProgress}},
	{Statuses: []core.Status{core.InProgress}},
	{Roots: true, Statuses: []core.Status{core.Blocked}}, // the end of their sessions may have blocked them
}

// An offer is a frame that a new session may take up.
type offer struct {
	core.Frame
	rank int // frames with work left below come first, and whole trees before parts of them
}

// offers adds the frames that a new session could take up: unfinished ones, and the root that
// ended last. It adds nothing for a subagent, which takes up no frames.
func offers(s *project.Op, around *core.ContextInput) (err error) {
	if s.Session.Parent != "" || s.Caller.Parent != "" {
		return nil
	}
	if around.Unfinished, err = unfinished(s); err != nil {
		return err
	}
	around.Finished, err = finished(s)
	return err
}

// Limits of finished.
const (
	maxFinished = 5    // roots among which it looks for one whose session is over
	maxLeft     = 3000 // length of the text about that root, in UTF-16 code units
)

// finished returns, among the roots in which no session works any more, the one that ended
// last, if it left something open.
func finished(s *project.Op) (left core.EndedRoot, err error) {
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
		c, ok, err := project.ContinuationOf(s.Tx, root)
		if err != nil || !ok || len(c.Open()) == 0 {
			return left, err
		}
		return core.EndedRoot{Frame: root, Text: c.Text(maxLeft)}, nil
	}
	return left, nil
}

// unfinished returns the frames that ended sessions left unfinished: first those with
// planned or open frames below them, roots before others, then by the latest change. It
// leaves out roots without work.
func unfinished(s *project.Op) (left []core.Frame, err error) {
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
	return lo.Map(offers, func(o offer, _ int) core.Frame { return o.Frame }), nil
}

// rankOf returns the rank of a frame among the offers; 0 if flame does not offer it.
func rankOf(s *project.Op, frame core.Frame) (int, error) {
	if mine := frame.Session == s.Session.ID; mine {
		return 0, nil
	}
	isLeft, err := isLeft(s, frame)
	if err != nil || !isLeft {
		return 0, err
	}
	children, err := project.CountChildren(s.Tx, frame.ID)
	if err != nil {
		return 0, err
	}
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

// isLeft reports whether no session works in an unfinished frame any more. About sessions of
// another machine, flame only knows how long they were silent.
func isLeft(s *project.Op, frame core.Frame) (bool, error) {
	isQuiet := s.Now-frame.UpdatedAt > core.Millis(quiet.Milliseconds())
	if frame.IsRemote() {
		return isQuiet && frame.Status == core.InProgress, nil
	}
	if frame.Status == core.Blocked {
		return project.EndedWithSession(s.Tx, frame)
	}
	owner, err := stack.LiveOwner(s, frame)
	return owner == "" || isQuiet, err
}
