package project

import (
	"context"

	"flame/core"
	"flame/core/op"
)

// Update runs f in a transaction that also notes the caller's activity.
func (p *Project) Update(ctx context.Context, by Caller, f func(*Step) error) error {
	return p.inStep(ctx, p.Store.Update, by, always(f))
}

// always considers nothing before f.
func always(f func(*Step) error) Consideration {
	return func(*Step) (func(*Step) error, error) { return f, nil }
}

// A Consideration reads, and returns what is to be changed; nil for nothing.
type Consideration func(*Step) (change func(*Step) error, err error)

// Consider runs f on a snapshot and then, in the same transaction, what f returns as
// Update does.
func (p *Project) Consider(ctx context.Context, by Caller, f Consideration) error {
	return p.inStep(ctx, p.Store.Run, by, f)
}

// IfKnown is Update for sessions that exist; for others it does nothing, so that
// hosts' events alone never make a project's data.
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

// inStep is Consider in a transaction of run's.
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

// UpdateIn is Update in a transaction that others began. It returns the caller's session,
// and what tells the log, for when that transaction is durable.
func (p *Project) UpdateIn(tx Tx, by Caller, f func(*Step) error) (session core.Session, log func(), err error) {
	s, err := p.within(tx, by, always(f))
	return s.Session, func() { tell(s.log) }, err
}

// within considers f as a call of by, as a part of a transaction that others began.
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

// policies are what is checked, and noted in the caller's session, before it changes
// anything.
var policies = []func(*Step) error{
	mustBeStamped, mayChange, noteCall, armRetention, noteHook,
}

// change runs f once all policies allow it, and keeps the caller's session.
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
	if err := s.moved(before); err != nil {
		return err
	}
	s.changed = true
	return s.Tx.SaveSession(s.Session)
}

// mustBeStamped refuses a call that may be a subagent's: its session was vouched for
// before, and this call is not.
func mustBeStamped(s *Step) error {
	if !s.Session.Stamped || s.By.Trust == Stamped || s.By.Host == CommandLine {
		return nil
	}
	return core.Invalidf("this call does not say which agent of session %s made it", s.By.Session).
		WithHint("flame's hook names the caller of every call in this session, but not of this one; "+
			"run `flame doctor` to see whether the hook still works, or pass %s from the command line", op.ArgFrame)
}

// noteCall notes in the caller's session that it called.
func noteCall(s *Step) error {
	s.Session.Stamped = s.Session.Stamped || s.By.Trust == Stamped
	if wakes(s) {
		s.Session.State = core.SessionActive
	}
	s.Session.LastActivityAt = s.Now
	return nil
}

// wakes reports whether the call shows that the caller's session is at work. What a
// shell, or the end of an agent, does in the name of one that is over does not.
func wakes(s *Step) bool {
	switch s.Session.State {
	case core.SessionSuspended:
		return false
	case core.SessionEnded:
		return s.By.Host != CommandLine
	}
	return true
}

// armRetention sees to it that old events are dropped some day; a session's first call
// does.
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

const EventsDeadline = "events" // drop events that are too old

// Day is 24 hours.
const Day = core.Millis(24 * 60 * 60 * 1000)

// As runs f as if session had asked, and keeps the session as f leaves it.
func (s *Step) As(session core.Session, f func(*Step) error) error {
	if session.ID == s.Session.ID {
		return f(s)
	}
	child := *s
	child.Session = session
	if err := f(&child); err != nil {
		return err
	}
	if err := child.moved(session); err != nil {
		return err
	}
	s.log = child.log
	return s.Tx.SaveSession(child.Session)
}
