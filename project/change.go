package project

import (
	"context"

	"flame/core"
	"flame/core/op"
)

// EventsDeadline is the kind of deadline that drops old events.
const EventsDeadline = "events"

// Day is 24 hours.
const Day = core.Millis(24 * 60 * 60 * 1000)

// Update runs f in a transaction that also notes the caller's activity.
func (p *Project) Update(ctx context.Context, by Caller, f func(*Step) error) error {
	return p.inStep(ctx, p.Store.Update, by, always(f))
}

// always returns a Consideration that runs f in any case.
func always(f func(*Step) error) Consideration {
	return func(*Step) (func(*Step) error, error) { return f, nil }
}

// A Consideration reads, and returns the function that makes the change, or nil if
// nothing is to be changed.
type Consideration func(*Step) (change func(*Step) error, err error)

// Consider runs f on a snapshot and then, in the same transaction, runs the function
// that f returns as Update would.
func (p *Project) Consider(ctx context.Context, by Caller, f Consideration) error {
	return p.inStep(ctx, p.Store.Run, by, f)
}

// IfKnown is Update for sessions that exist. For others it does nothing, so that a
// host's events alone never create data for a project.
func (p *Project) IfKnown(ctx context.Context, by Caller, f func(*Step) error) error {
	return p.Consider(ctx, by, func(s *Step) (func(*Step) error, error) {
		if s.Fresh {
			return nil, nil
		}
		return f, nil
	})
}

// A transaction is a method of a Store.
type transaction func(context.Context, func(Tx) error) error

// inStep is Consider in a transaction that run begins.
func (p *Project) inStep(ctx context.Context, run transaction, by Caller, f Consideration) error {
	var done *Step
	err := run(ctx, func(tx Tx) (err error) {
		done, err = p.within(tx, by, f)
		return err
	})
	switch {
	case err != nil:
	case p.joint != nil:
		p.joint.log, p.joint.changed = append(p.joint.log, done.log...), p.joint.changed || done.changed
	default:
		tell(done.log)
	}
	return err
}

func tell(log []func()) {
	for _, line := range log {
		line()
	}
}

// UpdateIn is Update in a transaction that the caller's code began. It returns the
// session, and a function that writes to the log, to be called once that transaction is
// durable.
func (p *Project) UpdateIn(tx Tx, by Caller, f func(*Step) error) (session core.Session, log func(), err error) {
	s, err := p.within(tx, by, always(f))
	return s.Session, func() { tell(s.log) }, err
}

// within runs f, and the change that it returns, on behalf of by in the transaction tx.
func (p *Project) within(tx Tx, by Caller, f Consideration) (*Step, error) {
	s := p.Step(tx, by)
	if err := s.Enter(); err != nil {
		return s, err
	}
	then, err := f(s)
	if err == nil && then != nil {
		err = s.change(then)
	}
	return s, err
}

// policies are checks and notes about the caller's session that precede every change.
var policies = []func(*Step) error{
	mustBeStamped, mayChange, noteCall, noteFirst, armRetention, noteHook, resumeByCall,
}

// change runs f once all policies allow it, and saves the caller's session.
func (s *Step) change(f func(*Step) error) error {
	if err := s.joinOwn(); err != nil {
		return err
	}
	before := s.Session
	for _, policy := range policies {
		if err := policy(s); err != nil {
			return err
		}
	}
	if err := f(s); err != nil {
		return err
	}
	if err := noteMove(s, before); err != nil {
		return err
	}
	s.changed = true
	return s.Tx.SaveSession(s.Session)
}

// mustBeStamped refuses a call that may come from a subagent: earlier calls of the
// session were vouched for, and this one is not.
func mustBeStamped(s *Step) error {
	if !s.Session.Stamped || s.By.Trust == Stamped || s.By.Host == CommandLine {
		return nil
	}
	return core.Invalidf("this call does not say which agent of session %s made it", s.By.Session).
		WithHint("flame's hook names the caller of every call in this session, but not of this one; "+
			"run `flame doctor` to see whether the hook still works, or pass %s from the command line", op.ArgFrame)
}

// noteCall records the call in the caller's session.
func noteCall(s *Step) error {
	if err := noteIdle(s.Tx, s.Session, s.Now); err != nil {
		return err
	}
	s.Session.Stamped = s.Session.Stamped || s.By.Trust == Stamped
	wakes, err := wakes(s)
	if wakes {
		s.Session.State = core.SessionActive
	}
	s.Session.LastActivityAt = s.Now
	return err
}

// wakes reports whether the call shows that the caller's session is at work. A call from
// a shell, or at the end of an agent, in the name of an ended session does not, nor does
// an event that is taken in late and happened before the session ended.
func wakes(s *Step) (bool, error) {
	switch s.Session.State {
	case core.SessionSuspended:
		return false, nil
	case core.SessionEnded:
		mine, err := s.PresenceOf(s.Session.ID)
		return s.By.Host != CommandLine && !(s.Project.Late && s.Now <= mine.Over), err
	}
	return true, nil
}

// armRetention sets the deadline that drops old events, on a session's first call.
func armRetention(s *Step) error {
	if !s.Fresh {
		return nil
	}
	var armed bool
	if known, err := recordSwitches.Load(s.Tx, EventsDeadline, &armed); known || err != nil {
		return err
	}
	if err := recordSwitches.Save(s.Tx, EventsDeadline, true); err != nil {
		return err
	}
	return s.Tx.SetDeadline(Deadline{Kind: EventsDeadline, Due: s.Now + Day, Set: s.Now})
}

// As runs f as if session were the caller, and saves the session as f leaves it.
func (s *Step) As(session core.Session, f func(*Step) error) error {
	if session.ID == s.Session.ID {
		return f(s)
	}
	child := *s
	child.Session = session
	if err := f(&child); err != nil {
		return err
	}
	if err := noteMove(&child, session); err != nil {
		return err
	}
	s.log = child.log
	return s.Tx.SaveSession(child.Session)
}
