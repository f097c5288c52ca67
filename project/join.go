package project

import (
	"cmp"
	"slices"

	"flame/core"
)

// recordAgentWork, by an agent's id, is what its session will be told by.
const recordAgentWork Kind[agentWork] = "delegated"

// An agentWork is the work of an agent that flame started.
type agentWork struct {
	Frame   string `json:"frame"`
	Parent  string `json:"parent"`            // session that asked for it
	Session string `json:"session,omitempty"` // of the agent; empty until it is known
	Host    string `json:"host"`
	Title   string `json:"title"`
	Given   bool   `json:"given,omitempty"` // its context came with its task
}

// SessionOf returns the id of the session that a call is of; an agent's own id stands
// for its session until that is known.
func SessionOf(tx Tx, by Caller) (string, error) {
	if by.Session != "" || by.anonymous() {
		return cmp.Or(by.Session, CommandLine), nil
	}
	var work agentWork
	_, err := recordAgentWork.Load(tx, by.Agent, &work)
	return cmp.Or(work.Session, by.Agent), err
}

// join makes a session that of an agent, unless it has one or id is empty. The
// agent's own id stood for it until now, if it worked before.
func (s *step) join(agent, id string) error {
	var work agentWork
	known, err := recordAgentWork.Load(s, agent, &work)
	if id == "" || !known || err != nil || work.Session != "" && work.Session != agent || work.Session == id {
		return err
	}
	before, err := s.Session(work.Session)
	if err = ignoreMissing(err); err != nil {
		return err
	}
	work.Session = id
	if err := recordAgentWork.Save(s, agent, work); err != nil {
		return err
	}
	frame, err := s.Frame(work.Frame)
	if err != nil {
		return ignoreMissing(err)
	}
	if before.ID != "" {
		if err := s.DeleteSession(before.ID); err != nil {
			return err
		}
	}
	return s.beginIn(work, frame, before.Current)
}

// joinOwn joins the caller's session to the work of the agent whose process it
// lives in, if that has no session yet.
func (s *step) joinOwn() error {
	if s.by.Agent == "" || s.by.Parent != "" || s.session.HasFrame() && s.session.Parent != "" {
		return nil
	}
	return s.join(s.by.Agent, s.session.ID)
}

// beginIn has the session of work begin in its frame; or in the one below that
// which it worked in before its name was known.
func (s *step) beginIn(work agentWork, frame core.Frame, workedIn string) error {
	session, err := s.Session(work.Session)
	if err = ignoreMissing(err); err != nil {
		return err
	}
	if session.ID == "" {
		session = core.Session{ID: work.Session, CreatedAt: s.now}
	}
	own, err := s.inProgress(session.Root)
	if err != nil {
		return err
	}
	if session.Current, err = s.inProgress(session.Current); err != nil {
		return err
	}
	session.Current = cmp.Or(session.Current, workedIn, frame.ID)
	session.Parent, session.Host, session.Title = work.Parent, work.Host, work.Title
	session.State, session.LastActivityAt, session.IsCompleted = core.SessionActive, s.now, false
	session.Root, frame.Session = frame.ID, session.ID
	if err := s.SaveFrame(frame); err != nil {
		return err
	}
	theirs, err := s.presenceOf(session.ID)
	if err != nil {
		return err
	}
	theirs.Given = work.Given
	if err := s.savePresence(session.ID, theirs); err != nil {
		return err
	}
	if session.ID == s.session.ID {
		s.session = session
		return s.moveBelow(own, frame.ID)
	}
	return s.as(session, func(s *step) error { return s.moveBelow(own, frame.ID) })
}

// moveBelow puts the root that a child made for itself, before anyone knew what
// it was, below the frame that was meant for it. One that was planned by others
// stays in its place.
func (s *step) moveBelow(own, meant string) error {
	if own == "" || meant == "" || own == meant {
		return nil
	}
	frame, err := s.Frame(own)
	if err != nil {
		return ignoreMissing(err)
	}
	if frame.Parent != "" {
		above, err := s.Frame(frame.Parent)
		if err != nil || slices.Contains(above.PlannedChildren, own) {
			return ignoreMissing(err)
		}
	}
	if open, err := s.Frame(meant); err != nil || open.Status != core.InProgress {
		return ignoreMissing(err) // nothing begins below what is finished
	}
	if loop, err := s.isInside(meant, own); loop || err != nil {
		return err
	}
	frame.Parent, frame.UpdatedAt = meant, s.now
	return s.SaveFrame(frame)
}

// inProgress returns the id of a frame if it is in progress; else none.
func (s *step) inProgress(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	frame, err := s.Frame(id)
	if err != nil || frame.Status != core.InProgress {
		return "", ignoreMissing(err)
	}
	return id, nil
}
