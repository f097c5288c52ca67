package project

import (
	"context"
	"errors"

	"flame/core"
	"flame/core/op"
)

// EventsDeadline is the kind of deadline that drops old events.
const EventsDeadline = "events"

// Day is 24 hours.
const Day = core.Millis(24 * 60 * 60 * 1000)

// View runs f on a snapshot. The caller's session may be unknown: View does not create it.
func (p *Project) View(ctx context.Context, by Caller, f func(*Op) error) error {
	return p.step(ctx, p.Store.View, by, f)
}

// Run is View for an f that may make a change, by Step.Change.
func (p *Project) Run(ctx context.Context, by Caller, f func(*Op) error) error {
	return p.step(ctx, p.Store.Run, by, f)
}

// Update runs f in a transaction that also notes the caller's activity.
func (p *Project) Update(ctx context.Context, by Caller, f func(*Op) error) error {
	return p.step(ctx, p.Store.Update, by, func(s *Op) error { return s.Change(f) })
}

// step runs f on behalf of by in a transaction that run begins.
func (p *Project) step(ctx context.Context, run func(context.Context, func(Tx) error) error, by Caller, f func(*Op) error) error {
	var s *Op
	err := run(ctx, func(tx Tx) error {
		s = p.Step(tx, by)
		if err := s.LoadSession(); err != nil {
			return err
		}
		return f(s)
	})
	switch {
	case err != nil:
	case p.joint != nil:
		p.joint.log, p.joint.changed = append(p.joint.log, s.log...), p.joint.changed || s.changed
	default:
		WriteLog(s)
	}
	return err
}

// WriteLog writes what happened in a step to the log. Only who runs the transaction of the step calls
// it, once that is durable.
func WriteLog(s *Op) { tell(s.log) }

func tell(log []func()) {
	for _, line := range log {
		line()
	}
}

// policies check and update the caller's session before every change.
var policies = []func(*Op) error{
	mustBeStamped, mayChange, noteCall, noteFirst, armRetention, noteHook, resumeByCall,
}

// Change runs f once all policies allow it, and saves the caller's session.
func (s *Op) Change(f func(*Op) error) error {
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

// mustBeStamped refuses a call that may come from a subagent: a hook vouched for earlier
// calls of the session, and not for this one.
func mustBeStamped(s *Op) error {
	if !s.Session.Stamped || s.Caller.Trust >= ByHost || s.Caller.Host == CommandLine {
		return nil
	}
	if gone, err := s.hooksGone(); gone || err != nil {
		return err
	}
	return core.Invalidf("this call does not say which agent of session %s made it", s.Caller.Session).
		WithHint("flame's hook names the caller of every call in this session, but not of this one; "+
			"run `flame doctor` to see whether the hook still works, or pass %s from the command line", op.ArgFrame)
}

// hooksGone reports whether the hooks that vouched for the caller's session certainly no longer
// run: the session goes on in another process of its host, in which no hook has reported a prompt.
func (s *Op) hooksGone() (bool, error) {
	if !s.hasProcess() {
		return false, nil
	}
	mine, err := RecordHookState.Find(s.Tx, s.Session.ID)
	now, none := s.Project.HostProcess(), Process{}
	return now != none && mine.Process != none && !mine.has(now), err
}

// noteCall records the call in the caller's session.
func noteCall(s *Op) error {
	if err := noteIdle(s.Tx, s.Session, s.Now); err != nil {
		return err
	}
	s.Session.Stamped = s.Session.Stamped || s.Caller.Trust == TrustHook
	wakes, err := wakes(s)
	if wakes {
		s.Session.State = core.SessionActive
	}
	s.Session.LastActivityAt = s.Now
	return err
}

// wakes reports whether the call shows that the caller's session is at work. For an ended
// session, these do not: a call from a shell, a call at the end of an agent, and an event
// that flame handles late and that happened before the session ended.
func wakes(s *Op) (bool, error) {
	switch s.Session.State {
	case core.SessionSuspended:
		return false, nil
	case core.SessionEnded:
		mine, err := RecordHookState.Find(s.Tx, s.Session.ID)
		return s.Caller.Host != CommandLine && !(s.Project.Replaying && s.Now <= mine.EndedAt), err
	}
	return true, nil
}

// armRetention sets the deadline that drops old events, on a session's first call.
func armRetention(s *Op) error {
	if !s.NewSession {
		return nil
	}
	if _, known, err := recordArmed.Get(s.Tx, ""); known || err != nil {
		return err
	}
	if err := recordArmed.Save(s.Tx, "", true); err != nil {
		return err
	}
	return s.Tx.SetDeadline(Deadline{Kind: EventsDeadline, Due: s.Now + Day, Set: s.Now})
}

// A batchStore is the Store of operations that share one transaction. If one of them fails, or
// does not find something, nothing is kept.
type batchStore struct {
	tx      Tx
	failed  error // errors of operations, without those of the next field
	missing error // errors of kind core.ErrNotFound
	changed bool  // an operation wrote something
	log     []func()
}

// View runs f in the one transaction.
func (j *batchStore) View(_ context.Context, f func(Tx) error) error { return f(j.tx) }

// Update runs f in the one transaction.
func (j *batchStore) Update(ctx context.Context, f func(Tx) error) error {
	err := j.Run(ctx, f)
	j.changed = j.changed || err == nil
	return err
}

// Run runs f in the one transaction.
func (j *batchStore) Run(_ context.Context, f func(Tx) error) error {
	err := f(j.tx)
	if errors.Is(err, core.ErrNotFound) {
		j.missing = errors.Join(j.missing, err)
	} else {
		j.failed = errors.Join(j.failed, err)
	}
	return err
}

var errApart = errors.New("project: this is too much for one transaction")

// Batch runs f. The operations of f on the project passed to it share one
// transaction, which only reads until one of them writes. If one of them fails, none of
// them takes effect. Together uses several transactions for work that is too long for one,
// and for an f that continues after one of its operations did not find something. f may run
// again, so it acts on that project alone.
func (p *Project) Batch(ctx context.Context, f func(*Project) error) error {
	if p.joint != nil {
		return f(p)
	}
	var j *batchStore
	var result error // of f
	err := p.Store.Run(ctx, func(tx Tx) error {
		j = &batchStore{tx: tx}
		result = f(p.in(j))
		return errors.Join(result, j.failed, j.missing)
	})
	switch {
	case err == nil:
		tell(j.log)
	case errors.Is(err, errApart):
		return f(p)
	case j != nil && result == nil && j.failed == nil && j.missing != nil:
		if j.changed {
			return f(p)
		}
		return nil
	}
	return err
}

// Changed reports whether an operation of the Together that p belongs to has written
// something. Outside of Together it reports true.
func (p *Project) Changed() bool { return p.joint == nil || p.joint.changed }

// in returns a copy of p that works within a batch.
func (p *Project) in(j *batchStore) *Project {
	inside := *p
	inside.Store, inside.joint = j, j
	return &inside
}

// InBatches runs work on items in short transactions, each complete in itself, and
// passes the result for each item to done once it is durable.
func InBatches[T, R any](ctx context.Context, p *Project, items []T, work func(Tx, T) (R, error), done func(R)) error {
	for len(items) > 0 {
		var results []R
		err := p.Store.Update(ctx, func(tx Tx) error {
			results = nil
			for began := p.Now(); len(results) < len(items) && (len(results) == 0 || p.Now()-began <= batchTime); {
				result, err := work(tx, items[len(results)])
				if err != nil {
					return err
				}
				results = append(results, result)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if items = items[len(results):]; len(items) > 0 && p.joint != nil {
			return errApart
		}
		for _, result := range results {
			done(result)
		}
	}
	return nil
}
