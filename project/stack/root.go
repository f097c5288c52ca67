package stack

import (
	"errors"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/usage"
)

// cutShort is the summary of a root whose session ended in the middle of its work without
// leaving a summary.
const cutShort = "(its session ended before the work was done)"

// EndRoots ends the root of the caller's session, which has ended, and the roots of earlier
// sessions in which it worked last.
func EndRoots(s *project.Op) error {
	if err := leaveItems(s); err != nil {
		return err
	}
	left, err := recordLeft.Find(s.Tx, "")
	if err != nil {
		return err
	}
	roots := []string{s.Session.Root}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		root, err := s.Tx.Frame(id)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if id != s.Session.Root && (root.Session == s.Session.ID || id == s.Session.Current) {
			roots = append(roots, id)
		}
	}
	for _, id := range roots {
		if err := EndRoot(s, id); err != nil {
			return err
		}
	}
	return nil
}

// EndRoot ends a root whose session has ended. The root is completed, with the
// session's last message as summary, if the session's last turn ended by itself and left
// nothing running; else it is blocked. While work is left below the root, or another session
// works in it, it stays in progress.
func EndRoot(s *project.Op, id string) error {
	root, err := s.Tx.Frame(id)
	if err != nil || root.Parent != "" || !root.IsOpen() {
		return errors.Join(project.IgnoreMissing(err), notLeft(s, id))
	}
	session, err := s.Tx.Session(root.Session)
	if err != nil || session.Parent != "" || session.State != core.SessionEnded {
		return project.IgnoreMissing(err)
	}
	if err := s.AsSession(session, leaveTurn); err != nil {
		return err
	}
	busy, err := workBelow(s, session, root)
	if err != nil {
		return err
	}
	if busy {
		return recordLeft.Change(s.Tx, "", func(left *map[string]string) { *left = lo.Assign(*left, map[string]string{id: session.ID}) })
	}
	theirs, err := project.RecordHookState.Find(s.Tx, session.ID)
	if err != nil {
		return err
	}
	status, summary := core.Blocked, ""
	switch {
	case theirs.TurnEndedIdle:
		status, summary = core.Completed, theirs.LastMessage
	case root.Summary == "":
		summary = cutShort
	}
	return s.AsSession(session, func(s *project.Op) error {
		if err := errors.Join(notLeft(s, id), End(s, &root, status, summary)); err != nil {
			return err
		}
		return project.RecordEnded.Save(s.Tx, id, root.EndedAt)
	})
}

// CompleteBlockedRoot completes the root of the caller's session, which has ended, if the root is
// blocked only because the host had not yet reported that the last turn ended by itself.
func CompleteBlockedRoot(s *project.Op) error {
	root, ended, err := s.ResumableRoot()
	if err != nil || !ended || root.Status != core.Blocked {
		return err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || !mine.TurnEndedIdle {
		return err
	}
	if root.Summary == cutShort {
		root.Summary = ""
	}
	now := s.Now
	s.Now = root.EndedAt // it ended when its session did
	defer func() { s.Now = now }()
	return End(s, &root, core.Completed, mine.LastMessage)
}

// workBelow reports whether work is left in a root whose session has ended: another session
// works in it, or a frame below it is planned or in progress.
func workBelow(s *project.Op, session core.Session, root core.Frame) (bool, error) {
	if owner, err := liveOwner(s, root, session.ID); owner != "" || err != nil {
		return true, err
	}
	left, err := s.Tx.FindFrames(project.FrameQuery{Under: root.ID, Statuses: []core.Status{core.InProgress, core.Planned}, Archived: true, Limit: 2})
	return len(left) > 1, err // the first is the root itself
}

// settleIn makes the tree of a frame that the caller's session takes up the session's own, if
// the session did nothing yet, or if the session that left the tree has ended. It deletes a
// root that the session made and did not use.
func settleIn(s *project.Op, frame core.Frame) error {
	if s.Caller.Anonymous() || s.Session.Parent != "" {
		if !s.Session.HasFrame() {
			s.Session.Root = frame.ID
		}
		return nil
	}
	top, err := s.RootOf(frame)
	if err != nil || top.ID == s.Session.Root {
		return err
	}
	mine := frame
	if top.IsOpen() {
		owner, err := LiveOwner(s, top)
		if err != nil {
			return err
		}
		if owner == "" && top.Session != project.CommandLine {
			mine = top
			assign(s, &top)
			if err := s.Tx.SaveFrame(top); err != nil {
				return err
			}
		}
	}
	gone, err := dropEmptyRoot(s, frame.ID)
	if gone || !s.Session.HasFrame() {
		s.Session.Root = mine.ID
	}
	return err
}

// dropEmptyRoot deletes the root of the caller's session if it has no work, and reports
// whether it did. Its usage then counts for frame next.
func dropEmptyRoot(s *project.Op, next string) (gone bool, err error) {
	if !s.Session.HasFrame() {
		return false, nil
	}
	root, err := s.Tx.Frame(s.Session.Root)
	if err != nil {
		return false, project.IgnoreMissing(err)
	}
	if root.Parent != "" || !root.IsOpen() || root.Session != s.Session.ID {
		return false, nil
	}
	if len(root.Artifacts)+len(root.Decisions)+len(root.Summary)+len(root.Results) > 0 {
		return false, nil
	}
	below, err := s.Tx.CountFrames(project.FrameQuery{Parent: root.ID, Archived: true})
	if err != nil || project.Total(below) > 0 {
		return false, err
	}
	if owner, err := LiveOwner(s, root); owner != "" || err != nil {
		return false, err
	}
	to, err := s.Tx.Frame(next)
	if err != nil {
		return false, err
	}
	to.Usage = to.Usage.Add(root.Usage)
	return true, errors.Join(s.Tx.SaveFrame(to), s.Tx.DeleteFrame(root.ID), usage.MoveWork(s, root.ID, next), notLeft(s, root.ID))
}

// LiveOwner returns a session other than the caller's that still works in frame.
func LiveOwner(s *project.Op, frame core.Frame) (string, error) {
	return liveOwner(s, frame, s.Session.ID)
}

// liveOwner returns a session other than but that still works in frame; empty for a frame of
// another machine, in which no session of this machine works.
func liveOwner(s *project.Op, frame core.Frame, but string) (string, error) {
	if frame.IsRemote() {
		return "", nil
	}
	at, err := s.Tx.FindSessions(project.SessionQuery{Current: frame.ID})
	if err != nil {
		return "", err
	}
	if frame.Session != "" {
		owner, err := s.Tx.Session(frame.Session)
		if err == nil {
			at = append(at, owner)
		}
	}
	for _, session := range at {
		if session.ID != but && session.Host != project.CommandLine && session.State != core.SessionEnded {
			return session.ID, nil
		}
	}
	return "", nil
}
