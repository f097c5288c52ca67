package project

import (
	"cmp"
	"errors"
	"slices"

	"flame/core"
)

// RecordAgentWork, by an agent's id, is the work that its session is to do.
const RecordAgentWork Kind[AgentWork] = "delegated"

// RecordAgentFrame, by a frame's id, is the id of the agent that it was made for.
const RecordAgentFrame Kind[string] = "agent_frame"

// An AgentWork is the work of an agent that flame started.
type AgentWork struct {
	Frame   string `json:"frame"`
	Parent  string `json:"parent"`            // session that asked for it
	Session string `json:"session,omitempty"` // of the agent; empty until it is known
	Host    string `json:"host"`
	Title   string `json:"title"`
	Given   bool   `json:"given,omitempty"` // its context came with its task
}

// SessionOf returns the id of the session that made a call; an agent's own id stands in
// for its session until that is known.
func SessionOf(tx Tx, by Caller) (string, error) {
	if by.Session != "" || by.Anonymous() {
		return cmp.Or(by.Session, CommandLine), nil
	}
	var work AgentWork
	_, err := RecordAgentWork.Load(tx, by.Agent, &work)
	return cmp.Or(work.Session, by.Agent), err
}

// Join makes session id the session of an agent, unless the agent has one or id is
// empty. If the agent worked before, its own id stood in for the session until now.
func (s *Step) Join(agent, id string) error {
	var work AgentWork
	known, err := RecordAgentWork.Load(s.Tx, agent, &work)
	if id == "" || !known || err != nil || work.Session != "" && work.Session != agent || work.Session == id {
		return err
	}
	before, err := s.Tx.Session(work.Session)
	if err = IgnoreMissing(err); err != nil {
		return err
	}
	work.Session = id
	if err := RecordAgentWork.Save(s.Tx, agent, work); err != nil {
		return err
	}
	frame, err := s.Tx.Frame(work.Frame)
	if err != nil || frame.Foreign() {
		return IgnoreMissing(err)
	}
	if before.ID != "" {
		if err := errors.Join(RecordIdle.Delete(s.Tx, before.ID), s.Tx.DeleteSession(before.ID)); err != nil {
			return err
		}
	}
	return s.beginIn(work, frame, before.Current)
}

// joinOwn joins the caller's session to the work of the agent whose process it
// lives in, if that has no session yet.
func (s *Step) joinOwn() error {
	if s.By.Agent == "" || s.By.Parent != "" || s.Session.HasFrame() && s.Session.Parent != "" {
		return nil
	}
	return s.Join(s.By.Agent, s.Session.ID)
}

// beginIn makes the session of work begin in frame, or in workedIn, the frame below it
// in which the agent worked before its session was known.
func (s *Step) beginIn(work AgentWork, frame core.Frame, workedIn string) error {
	session, err := s.Tx.Session(work.Session)
	if err = IgnoreMissing(err); err != nil {
		return err
	}
	if session.ID == "" {
		session = core.Session{ID: work.Session, CreatedAt: s.Now}
	}
	if err := noteIdle(s.Tx, session, s.Now); err != nil {
		return err
	}
	own, err := inProgress(s.Tx, session.Root)
	if err != nil {
		return err
	}
	if session.Current, err = inProgress(s.Tx, session.Current); err != nil {
		return err
	}
	session.Current = cmp.Or(session.Current, workedIn, frame.ID)
	session.Parent, session.Host, session.Title = work.Parent, work.Host, work.Title
	session.State, session.LastActivityAt, session.IsCompleted = core.SessionActive, s.Now, false
	session.Root, frame.Session = frame.ID, session.ID
	if err := s.Tx.SaveFrame(frame); err != nil {
		return err
	}
	theirs, err := s.PresenceOf(session.ID)
	if err != nil {
		return err
	}
	theirs.Given = work.Given
	err = errors.Join(s.SavePresence(session.ID, theirs), CountFrom(s.Tx, session.ID, Supervised), worksIn(s, session.ID, frame.ID, session.Current))
	if err != nil {
		return err
	}
	if session.ID == s.Session.ID {
		s.Session = session
		return s.MoveBelow(own, frame.ID)
	}
	return s.As(session, func(s *Step) error { return s.MoveBelow(own, frame.ID) })
}

// MoveBelow moves the root that a child made for itself, before anyone knew that it was
// a child, below the frame that was meant for it. A root that others had planned stays
// in its place.
func (s *Step) MoveBelow(own, meant string) error {
	if own == "" || meant == "" || own == meant {
		return nil
	}
	frame, err := s.Tx.Frame(own)
	if err != nil || frame.Foreign() {
		return IgnoreMissing(err)
	}
	if frame.Parent != "" {
		above, err := s.Tx.Frame(frame.Parent)
		if err != nil || slices.Contains(above.PlannedChildren, own) {
			return IgnoreMissing(err)
		}
	}
	if open, err := s.Tx.Frame(meant); err != nil || !open.Open() {
		return IgnoreMissing(err) // nothing begins below what is finished, or works elsewhere
	}
	if loop, err := s.IsInside(meant, own); loop || err != nil {
		return err
	}
	frame.Parent, frame.UpdatedAt = meant, s.Now
	return s.Tx.SaveFrame(frame)
}

// inProgress returns id if that frame is in progress on this machine, else "".
func inProgress(tx Tx, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	frame, err := tx.Frame(id)
	if err != nil || !frame.Open() {
		return "", IgnoreMissing(err)
	}
	return id, nil
}
