package project

import (
	"context"
	"errors"
	"time"

	"flame/core"
)

const (
	recordStats   = "stats" // counters: "subagents", "autonomy"
	statSubagents = "subagents"
	statAutonomy  = "autonomy"

	deadlineIdle = "subagent_idle" // by session: complete its frame
)

// trackedFor is how long a completed child session stays listed after its last
// activity (spec: subagents, clean-up).
const trackedFor = time.Hour

// autoCompleted is the summary of a subagent that fell idle without leaving one.
const autoCompleted = "(completed automatically when the subagent fell idle)"

// StartSession notes that a session began. A child of a session that works in a
// frame is tracked as a subagent: it gets a frame below that one at once when
// its title matches a pattern, else once the heuristics pass (seeds, phase 1.5).
func (p *Project) StartSession(ctx context.Context, by Caller, title string) (session core.Session, err error) {
	err = p.update(ctx, by, func(s *step) error {
		s.session.Title = title
		defer func() { session = s.session }()
		parent, err := s.parentFrame()
		if err != nil || parent == "" || s.session.Tracked || s.session.HasFrame() {
			return err
		}
		return s.track(parent)
	})
	return session, err
}

// parentFrame gives the id of the frame that the parent session works in;
// empty for a session without parent, or whose parent has no frame.
func (s *step) parentFrame() (string, error) {
	if s.session.Parent == "" {
		return "", nil
	}
	parent, err := s.Session(s.session.Parent)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.nearestOpen(parent.Current)
}

// track begins to watch the caller's session as a child of frame parent.
func (s *step) track(parent string) error {
	config, err := s.subagentConfig()
	if err != nil {
		return err
	}
	if s.session.Title == "" {
		s.session.Title = "Subagent task"
	}
	if !config.Enabled {
		return s.makeChild(parent)
	}
	patterns, _ := core.CompilePatterns(config.SubagentPatterns)
	s.session.Tracked = true
	s.session.IsSubagent = patterns.Match(s.session.Title)
	if err := s.countSubagents(func(c *core.SubagentStats) { c.TotalDetected++ }); err != nil {
		return err
	}
	if err := s.emit(core.SubagentDetected, "", map[string]any{"title": s.session.Title, "matched": s.session.IsSubagent}); err != nil {
		return err
	}
	if !s.session.IsSubagent {
		return nil
	}
	return s.makeTrackedFrame(parent)
}

func (s *step) makeTrackedFrame(parent string) error {
	if err := s.makeChild(parent); err != nil {
		return err
	}
	return s.countSubagents(func(c *core.SubagentStats) { c.FramesCreated++ })
}

// makeChild gives the caller's session a frame of its own below parent.
func (s *step) makeChild(parent string) error {
	frame, err := s.create(core.Frame{Parent: parent, Goal: core.OneLine(s.session.Title, 200), Status: core.InProgress})
	s.session.Root, s.session.Current = frame.ID, frame.ID
	return err
}

// tryHeuristics gives a watched session a frame if it has lived long enough and
// said enough; if not, it counts as skipped, once.
func (s *step) tryHeuristics() error {
	if !s.session.Tracked || s.session.HasFrame() || s.session.IsCompleted {
		return nil
	}
	config, err := s.subagentConfig()
	if err != nil {
		return err
	}
	parent, err := s.parentFrame()
	if err != nil {
		return err
	}
	age := int64(s.now - s.session.CreatedAt)
	if parent != "" && core.MeetsFrameHeuristics(age, s.session.MessageCount, config) {
		return s.makeTrackedFrame(parent)
	}
	if s.session.Skipped {
		return nil
	}
	s.session.Skipped = true
	return s.countSubagents(func(c *core.SubagentStats) { c.SkippedByHeuristics++ })
}

// NoteMessage notes a message in the caller's session. Seeing the same message
// id again changes nothing.
func (p *Project) NoteMessage(ctx context.Context, by Caller, messageID string) error {
	return p.update(ctx, by, func(s *step) error {
		if messageID != "" {
			seen := s.session.ID + "/" + messageID
			var at core.Millis
			if known, err := s.Record(recordSeen, seen, &at); known || err != nil {
				return err
			}
			if err := s.SaveRecord(recordSeen, seen, s.now); err != nil {
				return err
			}
		}
		s.session.MessageCount++
		return s.ClearDeadline(deadlineIdle, s.session.ID)
	})
}

// recordSeen marks host messages and hooks that were taken in, by id.
const recordSeen = "seen"

// NoteIdle notes that the caller's session waits for input. A watched session
// with a frame completes after the configured delay.
func (p *Project) NoteIdle(ctx context.Context, by Caller) error {
	return p.update(ctx, by, func(s *step) error {
		if err := s.tryHeuristics(); err != nil {
			return err
		}
		s.session.State = core.SessionIdle
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
	})
}

// EndSession notes that the caller's session is over. Its frames stay as they
// are, so that another session can take them up.
func (p *Project) EndSession(ctx context.Context, by Caller) error {
	end := func(tx Tx, save func(core.Session) error) error {
		session, err := tx.Session(by.Session)
		if errors.Is(err, core.ErrNotFound) || err == nil && session.State == core.SessionEnded {
			return nil
		}
		if err != nil {
			return err
		}
		session.State = core.SessionEnded
		return save(session)
	}
	// A session that did nothing leaves nothing behind, not even the data folder.
	known := false
	err := p.Store.View(ctx, func(tx Tx) error {
		return end(tx, func(core.Session) error { known = true; return nil })
	})
	if err != nil || !known {
		return err
	}
	return p.Store.Update(ctx, func(tx Tx) error { return end(tx, tx.SaveSession) })
}

// forgetOldSubagents drops completed child sessions an hour after their end.
func (s *step) forgetOldSubagents() error {
	tracked, err := s.FindSessions(SessionQuery{Tracked: true})
	if err != nil {
		return err
	}
	for _, session := range tracked {
		old := s.now-session.LastActivityAt > core.Millis(trackedFor.Milliseconds())
		if session.IsCompleted && old && session.ID != s.session.ID {
			if err := s.DeleteSession(session.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// idleElapsed completes the frame of a child session that stayed idle.
func (s *step) idleElapsed(id string) error {
	session, err := s.Session(id)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil || !session.Idle() || session.IsCompleted || !session.HasFrame() {
		return err
	}
	frame, err := s.Frame(session.Root)
	if err != nil {
		return err
	}
	open, err := s.children(frame.ID, core.InProgress)
	if err != nil {
		return err
	}
	if len(open) > 0 || frame.Status != core.InProgress {
		return nil // not while one below it is in progress, and never twice
	}
	summary := ""
	if frame.Summary == "" {
		summary = autoCompleted
	}
	s.session = session
	if err := s.completeSubagent(&session, &frame, core.Completed, summary); err != nil {
		return err
	}
	return s.countSubagents(func(c *core.SubagentStats) { c.AutoCompleted++ })
}

func (s *step) completeSubagent(session *core.Session, frame *core.Frame, status core.Status, summary string) error {
	if err := s.end(frame, status, summary); err != nil {
		return err
	}
	session.IsCompleted, session.Current = true, ""
	if err := s.ClearDeadline(deadlineIdle, session.ID); err != nil {
		return err
	}
	event := core.SubagentCompleted
	if status == core.Failed {
		event = core.SubagentError
	}
	if err := s.emit(event, frame.ID, map[string]any{"status": status, "childSession": session.ID}); err != nil {
		return err
	}
	return s.SaveSession(*session)
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
		own := session.ID == s.session.ID
		if done.Session, done.Already = session, session.IsCompleted; done.Already {
			return nil
		}
		if !session.HasFrame() {
			return core.Invalidf("subagent session %s has no frame yet", session.ID).
				WithHint("it gets one after minDuration and minMessageCount; flame_subagent_config shows and changes them")
		}
		if done.Frame, err = s.Frame(session.Root); err != nil {
			return err
		}
		if err := s.completeSubagent(&session, &done.Frame, status, args.Summary); err != nil {
			return err
		}
		if own {
			s.session = session
		}
		done.Session = session
		return s.countSubagents(func(c *core.SubagentStats) { c.ManuallyCompleted++ })
	})
	return done, err
}

// trackedSession finds a tracked child session by its id or its frame's.
func (s *step) trackedSession(ref string) (core.Session, error) {
	id := ref
	if id == "" {
		id = s.session.ID
	}
	session, err := s.Session(id)
	if errors.Is(err, core.ErrNotFound) {
		frame, resolveErr := s.resolve(ref)
		if resolveErr == nil && frame.Session != "" {
			session, err = s.Session(frame.Session)
		}
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return session, err
	}
	if err != nil || !session.Tracked {
		return session, core.NotFoundf("%q is not a tracked subagent session", id).WithHint("flame_subagent_list shows those that are")
	}
	return session, nil
}

// Subagents are the tracked child sessions and what was counted about them.
type Subagents struct {
	Sessions []core.Session // latest activity first
	Stats    core.SubagentStats
	Enabled  bool
}

// SubagentSessions gives the tracked child sessions.
func (p *Project) SubagentSessions(ctx context.Context, by Caller) (all Subagents, err error) {
	err = p.view(ctx, by, func(s *step) error {
		config, err := s.subagentConfig()
		if err != nil {
			return err
		}
		all.Enabled = config.Enabled
		if _, err := s.Record(recordStats, statSubagents, &all.Stats); err != nil {
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
		return s.SaveRecord(recordStats, statSubagents, core.SubagentStats{LastReset: s.now})
	})
}

func (s *step) countSubagents(count func(*core.SubagentStats)) error {
	var stats core.SubagentStats
	if _, err := s.Record(recordStats, statSubagents, &stats); err != nil {
		return err
	}
	count(&stats)
	return s.SaveRecord(recordStats, statSubagents, stats)
}
