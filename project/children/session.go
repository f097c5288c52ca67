// Package children follows child sessions from their start to their end: native
// subagents, which hosts report, and the agents that flame starts.
package children

import (
	"context"
	"errors"
	"time"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/stack"
	"flame/project/usage"
)

// trackedFor is how long a completed child session stays listed after its last
// activity.
const trackedFor = time.Hour

// StartSession records that a session began, or has another title. It tracks a child of a
// session that works in a frame as a subagent: the child gets a frame below that frame at
// once if its title matches a pattern, else once the heuristics pass (the first description). A
// repeated call changes nothing.
func StartSession(ctx context.Context, p *project.Project, by project.Caller, title string) (session core.Session, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		defer func() { session = s.Session }()
		if title != "" {
			s.Session.Title = core.OneLine(title, project.MaxTitle)
		}
		if s.Session.HasFrame() {
			if title == "" || s.Session.Tracked {
				return nil
			}
			return s.RenameRoot(core.OneLine(title, project.MaxRootGoal), true)
		}
		parent, err := s.ParentFrame()
		if err != nil || parent == "" || s.Session.Tracked {
			return err
		}
		return track(s, parent)
	})
	return session, err
}

// Idle records that the caller's session waits for input. A tracked session with a frame
// completes after the configured delay.
func Idle(s *project.Op) error {
	if err := tryHeuristics(s); err != nil {
		return err
	}
	if s.Session.State == core.SessionActive {
		s.Session.State = core.SessionIdle
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return err
	}
	if s.Session.Tracked && s.Session.HasFrame() && !s.Session.IsCompleted && config.AutoCompleteOnIdle {
		due := s.Now + core.Millis(config.IdleCompletionDelay)
		if err := s.Tx.SetDeadline(project.Deadline{Kind: IdleDeadline, Subject: s.Session.ID, Due: due, Set: s.Now}); err != nil {
			return err
		}
	}
	return forgetOldSubagents(s)
}

// EndSession records that the caller's session has ended in the caller's process, and with that, if no
// other process goes on with it, the session.
func EndSession(ctx context.Context, p *project.Project, by project.Caller) error {
	return endSession(ctx, p, by, (*project.HookState).GoesOn)
}

// EndServed is EndSession for a server that has ended, which needs no hook to vouch for it. Hooks that
// report the session's prompts report its end, too: it goes on while a process of its host lives, which
// may have restarted the server.
func EndServed(ctx context.Context, p *project.Project, by project.Caller) error {
	by.Trust = project.TrustFlame
	return endSession(ctx, p, by, func(mine *project.HookState, s *project.Op) bool {
		return mine.Prompt != "" && mine.Lives(s) || mine.GoesOn(s)
	})
}

// EndEverywhere records that the caller's session has ended, whatever processes it was opened in.
func EndEverywhere(ctx context.Context, p *project.Project, by project.Caller) error {
	return endSession(ctx, p, by, func(*project.HookState, *project.Op) bool { return false })
}

// endSession ends the caller's session unless it goes on. It orphans the session's children,
// and ends its root unless work is left below (stack.EndRoot). Other frames stay as they
// are, so that another session can take them up.
func endSession(ctx context.Context, p *project.Project, by project.Caller, goes func(*project.HookState, *project.Op) bool) error {
	return p.Batch(ctx, func(p *project.Project) error {
		over, goesOn := false, false
		err := p.Store.View(ctx, func(tx project.Tx) error {
			session, err := tx.Session(by.Session)
			over = err != nil || session.State == core.SessionEnded
			return project.IgnoreMissing(err)
		})
		if err != nil || over {
			return err // a session that did nothing leaves nothing behind, not even the data folder
		}
		err = p.Update(ctx, by, func(s *project.Op) error {
			return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) { goesOn = goes(mine, s) })
		})
		if err != nil || goesOn {
			return err
		}
		if err := Orphan(ctx, p, by, nil); err != nil {
			return err
		}
		return p.Run(ctx, by, func(s *project.Op) error {
			s.Session.State = core.SessionEnded
			err := errors.Join(
				project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) { mine.EndedAt = s.Now }),
				s.Tx.SaveSession(s.Session), autonomy.ForgetScene(s.Tx, s.Session.ID),
			)
			if err != nil || s.Session.Parent != "" {
				return err
			}
			return stack.EndRoots(s)
		})
	})
}

// forgetOldSubagents drops completed child sessions an hour after their end.
func forgetOldSubagents(s *project.Op) error {
	old, err := s.Tx.FindSessions(project.SessionQuery{Tracked: true, CompletedBefore: max(1, s.Now-core.Millis(trackedFor.Milliseconds()))})
	if err != nil {
		return err
	}
	for _, session := range old {
		if s.OutOfTime() {
			return nil // the next session that falls idle continues
		}
		if session.ID != s.Session.ID {
			if err := forget(s, session); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget deletes the records about a session. For a session with a frame, it keeps the
// session, the counts and the record of its requests, in case the child continues; flame no
// longer tracks that session.
func forget(s *project.Op, session core.Session) error {
	err := errors.Join(
		briefing.ForgetNotices(s.Tx, session.ID), autonomy.Forget(s.Tx, session.ID), s.Tx.ClearDeadline(IdleDeadline, session.ID),
		s.Tx.ClearDeadline(WorthDeadline, session.ID),
		project.ForgetSession(s.Tx, session.ID),
	)
	if err != nil || !session.HasFrame() {
		return errors.Join(err, usage.Forget(s.Tx, session))
	}
	session.Tracked = false
	return s.Tx.SaveSession(session)
}

// CompleteIdle completes the frame of a child session that stayed idle.
func CompleteIdle(s *project.Op, id string) error {
	session, err := s.Tx.Session(id)
	if err != nil || !session.Idle() || session.IsCompleted || !session.HasFrame() {
		return project.IgnoreMissing(err)
	}
	return endChild(s, id, project.ChildOutcome{End: core.ChildCompleted, Idle: true})
}

// TrackedSessions are the tracked child sessions and their counters.
type TrackedSessions struct {
	Sessions []core.Session // latest activity first
	Stats    core.SubagentStats
	Proposed []core.TitlePattern
	Enabled  bool
}

// Sessions returns the tracked child sessions, and by their calls the children whose
// sessions are still unknown.
func Sessions(ctx context.Context, p *project.Project, by project.Caller) (all TrackedSessions, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		config, err := s.SubagentConfig()
		if err != nil {
			return err
		}
		all.Enabled = config.Enabled
		if all.Stats, err = recordSubagentStats.Find(s.Tx, ""); err != nil {
			return err
		}
		all.Proposed = all.Stats.TitlePatterns(config.SubagentPatterns)
		if all.Sessions, err = s.Tx.FindSessions(project.SessionQuery{Tracked: true}); err != nil {
			return err
		}
		asked, err := waiting(s)
		all.Sessions = append(asked, all.Sessions...)
		return err
	})
	return all, err
}

// ResetStats zeroes the counters; tracked sessions stay.
func ResetStats(ctx context.Context, p *project.Project, by project.Caller) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		return recordSubagentStats.Save(s.Tx, "", core.SubagentStats{LastReset: s.Now})
	})
}

// Completion is the result of Complete.
type Completion struct {
	Session core.Session
	Frame   core.Frame
	Already bool // it had completed before; nothing changed
}

// Complete ends the frame of a tracked child session: the caller's own, unless ref names
// another by its id or by the id of its frame.
func Complete(ctx context.Context, p *project.Project, by project.Caller, ref string, status core.Status, summary string) (done Completion, err error) {
	args := stack.PopArgs{Status: status, Summary: summary}
	if err := args.Check(); err != nil {
		return done, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		session, err := trackedSession(s, ref)
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
		if done.Frame, err = s.Tx.Frame(session.Root); err != nil {
			return err
		}
		if err := s.CheckLocal(done.Frame); err != nil {
			return err
		}
		if err := mayComplete(s, session); err != nil {
			return err
		}
		how := project.ChildOutcome{End: core.EndOf(status), Last: args.Summary, Hand: true}
		if err := endChild(s, session.ID, how); err != nil {
			return err
		}
		done.Session.IsCompleted = true
		done.Frame, err = s.Tx.Frame(session.Root)
		return err
	})
	return done, err
}

// mayComplete refuses to complete a child by hand while other sessions work below it.
func mayComplete(s *project.Op, child core.Session) error {
	waits, err := waitsBelow(s, child)
	if err != nil || !waits {
		return err
	}
	open, err := openBelow(s, child)
	if err != nil {
		return err
	}
	return core.Invalidf("other agents work below %s: %s", child.Root, project.ListFrames(open)).
		WithHint("complete those first")
}

// A Task is a child of a session, in the form in which the session's conversation shows it.
type Task struct {
	Session, Title string
	Ended          *EndReport // nil while it works
}

// CatchUp records the starts and ends of the caller's children that no event reported. It
// records nothing about children that flame forgot long after their end.
func CatchUp(ctx context.Context, p *project.Project, by project.Caller, tasks []Task) error {
	var errs []error
	for _, t := range tasks {
		known, over, err := IsKnown(ctx, p, t.Session)
		if err == nil && !known {
			child := by
			child.Session, child.Parent = t.Session, by.Session
			_, err = StartSession(ctx, p, child, t.Title)
		}
		if err == nil && !over && t.Ended != nil {
			err = End(ctx, p, by, *t.Ended)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// IsKnown reports whether a host reported a session and, for a child, whether it reported the
// child's end.
func IsKnown(ctx context.Context, p *project.Project, id string) (known, over bool, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		session, err := tx.Session(id)
		if !errors.Is(err, core.ErrNotFound) {
			known, over = err == nil, session.IsCompleted
			return err
		}
		events, err := tx.FindEvents(project.EventQuery{Session: id, Limit: 1})
		known, over = len(events) > 0, len(events) > 0
		return err
	})
	return known, over, err
}

// SessionOf returns a session; the zero Session if flame does not know it.
func SessionOf(ctx context.Context, p *project.Project, id string) (core.Session, error) {
	return project.Read(ctx, p, func(tx project.Tx) (core.Session, error) {
		session, err := tx.Session(id)
		return session, project.IgnoreMissing(err)
	})
}
