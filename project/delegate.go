package project

import (
	"context"

	"flame/core"
)

// A Delegation asks for the frame of an agent that flame starts itself.
type Delegation struct {
	Under   string // frame that it goes below; empty: the caller's current one
	Goal    string
	Session string // of the agent in its host; empty where that is known only later (Join)
	Host    string
	Title   string // of that session
	Bare    bool   // no context is asked for

	// Also runs in the same transaction once the frame is there, for what must be
	// kept with it or may forbid it. May be nil.
	Also func(tx Tx, frame core.Frame, caller core.Session) error
}

// Delegate makes the frame of an agent, and its session below the caller's. It
// gives the context that the agent should begin with.
func (p *Project) Delegate(ctx context.Context, by Caller, d Delegation) (frame core.Frame, context string, err error) {
	if d.Goal, err = clean("description", d.Goal); err != nil {
		return frame, "", err
	}
	err = p.update(ctx, by, func(s *step) error {
		parent, err := s.delegateUnder(d.Under)
		if err != nil {
			return err
		}
		frame, err = s.create(core.Frame{Parent: parent, Goal: core.OneLine(d.Goal, maxTitle), Status: core.InProgress})
		if err != nil {
			return err
		}
		if d.Session != "" {
			if err := s.join(frame, d.Session, d.Host, d.Title); err != nil {
				return err
			}
		}
		if !d.Bare {
			if context, err = s.delegateContext(frame); err != nil {
				return err
			}
		}
		if d.Also == nil {
			return nil
		}
		return d.Also(s.Tx, frame, s.session)
	})
	return frame, context, err
}

// delegateUnder gives the id of the frame that an agent's goes below.
func (s *step) delegateUnder(ref string) (string, error) {
	if ref == "" {
		return s.spawnParent()
	}
	parent, err := s.resolve(ref)
	if err == nil && parent.Status != core.InProgress {
		err = core.Invalidf("%s is %s, so no agent can work below it", parent.ID, parent.Status).
			WithHint("name a frame in progress, or flame_activate this one")
	}
	return parent.ID, err
}

// delegateContext is the context of an agent's frame, whatever native subagents
// get.
func (s *step) delegateContext(frame core.Frame) (string, error) {
	_, newest, err := s.Revision()
	if err != nil {
		return "", err
	}
	config, err := s.subagentConfig()
	if err != nil {
		return "", err
	}
	around, err := s.surroundings(frame, newest, config.PropagateSummaries)
	return core.BuildContext(around, s.p.Budget, 0).Text, err
}

// Join tells which session an agent's frame is worked in.
func (p *Project) Join(ctx context.Context, by Caller, frame, session, host, title string) error {
	return p.update(ctx, by, func(s *step) error {
		f, err := s.Frame(frame)
		if err != nil {
			return err
		}
		return s.join(f, session, host, title)
	})
}

func (s *step) join(frame core.Frame, id, host, title string) error {
	session, err := s.Session(id)
	if err = ignoreMissing(err); err != nil || session.Root == frame.ID {
		return err
	}
	if session.ID == "" {
		session = core.Session{ID: id, CreatedAt: s.now}
	}
	own := session.Root
	session.Parent, session.Host, session.Title = s.session.ID, host, title
	session.State, session.LastActivityAt = core.SessionActive, s.now
	if session.Current == "" {
		session.Current = frame.ID
	}
	session.Root, frame.Session = frame.ID, id
	if err := s.SaveFrame(frame); err != nil {
		return err
	}
	return s.as(session, func(s *step) error { return s.moveBelow(own, frame.ID) })
}

// EndDelegation ends the frame of an agent in the way its run ended: with its
// session's other frames, where that is known. Telling it again changes nothing.
func (p *Project) EndDelegation(ctx context.Context, by Caller, frame string, ended ChildEnded) error {
	return p.update(ctx, by, func(s *step) error {
		how := childEnded{End: ended.End, Last: ended.Last}
		session, err := s.Session(ended.Session)
		if err == nil && session.Root == frame {
			return s.endChild(session.ID, how)
		}
		if err = ignoreMissing(err); err != nil {
			return err
		}
		return s.endSpawn(spawn{Frame: frame}, how)
	})
}

// NoteMode keeps the permission mode that the caller's host tells; it bounds what
// agents of its may do.
func (p *Project) NoteMode(ctx context.Context, by Caller, mode string) error {
	return p.update(ctx, by, func(s *step) error {
		mine, err := s.presenceOf(s.session.ID)
		if err != nil || mine.Mode == mode {
			return err
		}
		mine.Mode = mode
		return s.savePresence(s.session.ID, mine)
	})
}

// ModeOf gives the permission mode that the host told of a session last; empty
// where it told none.
func ModeOf(tx Tx, session string) (string, error) {
	var p presence
	_, err := tx.Record(recordPresence, session, &p)
	return p.Mode, err
}
