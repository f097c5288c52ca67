package project

import (
	"context"
	"errors"
	"time"

	"flame/core"
	"flame/core/op"
)

// trackedFor is how long a completed child session stays listed after its last
// activity (spec: subagents, clean-up).
const trackedFor = time.Hour

// StartSession notes that a session began, or has another title. A child of a
// session that works in a frame is tracked as a subagent: it gets a frame below
// that one at once when its title matches a pattern, else once the heuristics
// pass (seeds, phase 1.5). Telling it again changes nothing.
func (p *Project) StartSession(ctx context.Context, by Caller, title string) (session core.Session, err error) {
	err = p.update(ctx, by, func(s *step) error {
		defer func() { session = s.session }()
		if title != "" {
			s.session.Title = core.OneLine(title, maxTitle)
		}
		if s.session.HasFrame() {
			if title == "" || s.session.Tracked {
				return nil
			}
			return s.renameRoot(core.OneLine(title, maxRootGoal), true)
		}
		parent, err := s.parentFrame()
		if err != nil || parent == "" || s.session.Tracked {
			return err
		}
		return s.track(parent)
	})
	return session, err
}

// idle notes that the caller's session waits for input. A watched session with a
// frame completes after the configured delay.
func (s *step) idle() error {
	if err := s.tryHeuristics(); err != nil {
		return err
	}
	if s.session.State != core.SessionSuspended {
		s.session.State = core.SessionIdle
	}
	config, err := s.subagentConfig()
	if err != nil {
		return err
	}
	if s.session.Tracked && s.session.HasFrame() && !s.session.IsCompleted && config.AutoCompleteOnIdle {
		due := s.now + core.Millis(config.IdleCompletionDelay)
		if err := s.SetDeadline(Deadline{Kind: deadlineIdle, Subject: s.session.ID, Due: due, Set: s.now}); err != nil {
			return err
		}
	}
	return s.forgetOldSubagents()
}

// EndSession notes that the caller's session is over. Its frames stay as they
// are, so that another session can take them up; its children are orphaned.
func (p *Project) EndSession(ctx context.Context, by Caller) error {
	return p.Together(ctx, func(p *Project) error {
		over := false
		err := p.Store.View(ctx, func(tx Tx) error {
			session, err := tx.Session(by.Session)
			over = err != nil || session.State == core.SessionEnded
			return ignoreMissing(err)
		})
		if err != nil || over {
			return err // a session that did nothing leaves nothing behind, not even the data folder
		}
		if err := p.orphan(ctx, by, nil); err != nil {
			return err
		}
		return p.Store.Update(ctx, func(tx Tx) error {
			s := p.step(tx, by)
			if err := s.enter(); err != nil {
				return err
			}
			s.session.State = core.SessionEnded
			return s.SaveSession(s.session)
		})
	})
}

// forgetOldSubagents drops completed child sessions an hour after their end.
func (s *step) forgetOldSubagents() error {
	old, err := s.FindSessions(SessionQuery{Tracked: true, CompletedBefore: max(1, s.now-core.Millis(trackedFor.Milliseconds()))})
	if err != nil {
		return err
	}
	for _, session := range old {
		if s.late() {
			return nil // the next one that falls idle goes on
		}
		if session.ID != s.session.ID {
			if err := s.forget(session.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget drops a session and what is remembered for its sake.
func (s *step) forget(session string) error {
	return errors.Join(
		forgetBriefings(s, session), forgetSuggestions(s, session), forgetUsage(s, session),
		s.ClearDeadline(deadlineIdle, session), s.forgetSession(session),
	)
}

// idleElapsed completes the frame of a child session that stayed idle.
func (s *step) idleElapsed(id string) error {
	session, err := s.Session(id)
	if err != nil || !session.Idle() || session.IsCompleted || !session.HasFrame() {
		return ignoreMissing(err)
	}
	if err := s.endChild(id, childEnded{End: core.ChildCompleted, Idle: true}); err != nil {
		return err
	}
	if session, err = s.Session(id); err != nil || !session.IsCompleted {
		return err
	}
	return s.countSubagents(func(c *core.SubagentStats) { c.AutoCompleted++ })
}

// Subagents are the tracked child sessions and what was counted about them.
type Subagents struct {
	Sessions []core.Session // latest activity first
	Stats    core.SubagentStats
	Enabled  bool
}

// SubagentSessions returns the tracked child sessions.
func (p *Project) SubagentSessions(ctx context.Context, by Caller) (all Subagents, err error) {
	err = p.view(ctx, by, func(s *step) error {
		config, err := s.subagentConfig()
		if err != nil {
			return err
		}
		all.Enabled = config.Enabled
		if _, err := recordSubagentStats.Load(s, statSubagents, &all.Stats); err != nil {
			return err
		}
		all.Sessions, err = s.FindSessions(SessionQuery{Tracked: true})
		return err
	})
	return all, err
}

// ResetSubagentStats zeroes the counters; tracked sessions stay.
func (p *Project) ResetSubagentStats(ctx context.Context, by Caller) error {
	return p.update(ctx, by, func(s *step) error {
		return recordSubagentStats.Save(s, statSubagents, core.SubagentStats{LastReset: s.now})
	})
}

// SubagentDone is what CompleteSubagent did.
type SubagentDone struct {
	Session core.Session
	Frame   core.Frame
	Already bool // it was completed before; nothing changed
}

// CompleteSubagent ends the frame of a tracked child session, the caller's own
// unless ref names another by its id or that of its frame.
func (p *Project) CompleteSubagent(ctx context.Context, by Caller, ref string, status core.Status, summary string) (done SubagentDone, err error) {
	args := PopArgs{Status: status, Summary: summary}
	if err := args.check(); err != nil {
		return done, err
	}
	err = p.update(ctx, by, func(s *step) error {
		session, err := s.trackedSession(ref)
		if err != nil {
			return err
		}
		if done.Session, done.Already = session, session.IsCompleted; done.Already {
			return nil
		}
		if !session.HasFrame() {
			return core.Invalidf("subagent session %s has no frame yet", session.ID).
				WithHint("it gets one after minDuration and minMessageCount; %s shows and changes them", op.SubagentConfig)
		}
		if err := s.mayComplete(session); err != nil {
			return err
		}
		how := childEnded{End: core.EndOf(status), Last: args.Summary}
		if err := s.endChild(session.ID, how); err != nil {
			return err
		}
		if done.Frame, err = s.Frame(session.Root); err != nil {
			return err
		}
		done.Session.IsCompleted = true
		return s.countSubagents(func(c *core.SubagentStats) { c.ManuallyCompleted++ })
	})
	return done, err
}

// mayComplete refuses to complete a child by hand while others work below it.
func (s *step) mayComplete(child core.Session) error {
	waits, err := s.waitsBelow(child)
	if err != nil || !waits {
		return err
	}
	open, err := s.openBelow(child)
	if err != nil {
		return err
	}
	return core.Invalidf("other agents work below %s: %s", child.Root, listFrames(open)).
		WithHint("complete those first")
}
