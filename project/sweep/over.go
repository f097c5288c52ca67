package sweep

import (
	"context"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
)

// maxLive is how many sessions a sweep looks at, the latest active first. Those that it
// ends make room for others.
const maxLive = 100

// endOver ends sessions that have ended without a word. One that fails is tried again by
// the next sweep.
func endOver(ctx context.Context, p *project.Project, sessions []string) {
	for _, id := range sessions {
		if err := children.EndSession(ctx, p, project.Caller{Session: id, Trust: project.ByFlame}); err != nil {
			p.Log.Warn("a session's end was not recorded", "session", id, "error", err)
		}
	}
}

// over returns the ids of the sessions that have ended without a word: the process of
// their host is gone, or nothing was heard of them for a day (DESIGN §4).
func over(p *project.Project, tx project.Tx, now core.Millis) (ids []string, err error) {
	live, err := tx.FindSessions(project.SessionQuery{Live: true, Limit: maxLive})
	if err != nil {
		return nil, err
	}
	for _, session := range live {
		if session.Host == project.CommandLine {
			continue
		}
		over, err := isOver(p.Step(tx, project.Caller{}), session, now)
		if err != nil {
			return nil, err
		}
		if over {
			ids = append(ids, session.ID)
		}
	}
	return ids, nil
}

// isOver reports whether a session has ended without a word. One whose children run in a
// process that is known to be alive is not silent: the clock may have jumped.
func isOver(s *project.Step, session core.Session, now core.Millis) (bool, error) {
	known, gone, err := processOf(s, session)
	if err != nil || gone || now-session.LastActivityAt <= project.Day {
		return gone, err
	}
	s.Session = session
	running, err := children.Running(s)
	return !(known && running), err
}

// processOf reports whether the process of a session's host is known, and whether it is
// gone.
func processOf(s *project.Step, session core.Session) (known, gone bool, err error) {
	theirs, err := s.PresenceOf(session.ID)
	if err != nil || s.Project.Gone == nil || theirs.Process == (project.Process{}) {
		return false, false, err
	}
	return true, s.Project.Gone(theirs.Process), nil
}

// maxOld limits the roots that are looked at once a day.
const maxOld = 50

// endOldRoots ends roots of sessions that ended while flame left such roots in progress,
// as it did in earlier versions.
func endOldRoots(s *project.Step) error {
	roots, err := s.Tx.FindFrames(project.FrameQuery{Roots: true, Statuses: []core.Status{core.InProgress}, Limit: maxOld})
	if err != nil {
		return err
	}
	for _, root := range roots {
		if s.Late() {
			break
		}
		if err := stack.EndRoot(s, root.ID); err != nil {
			return err
		}
	}
	return nil
}
