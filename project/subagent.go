package project

import (
	"context"
	"errors"
	"time"

	"flame/core"
	"flame/core/op"
)

// Counters, each under the one id that it has.
const (
	recordSubagentStats Kind[core.SubagentStats] = "stats"
	statSubagents                                = "subagents"

	deadlineIdle = "subagent_idle" // by session: complete its frame
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

// track begins to watch the caller's session as a child of frame parent.
func (s *step) track(parent string) error {
	if s.session.Title == "" {
		s.session.Title = "Subagent task"
	}
	config, err := s.subagentConfig()
	if err != nil {
		return err
	}
	if !config.Enabled {
		return s.makeChild(parent)
	}
	if err := s.register(false); err != nil || !s.session.IsSubagent {
		return err
	}
	return s.makeTrackedFrame(parent)
}

// register puts the caller's session among those that are watched as subagents,
// where that is enabled. framed says that it has its frame already.
func (s *step) register(framed bool) error {
	config, err := s.subagentConfig()
	if err != nil || !config.Enabled || s.session.Tracked {
		return err
	}
	patterns, _ := core.CompilePatterns(config.SubagentPatterns)
	s.session.Tracked = true
	s.session.IsSubagent = patterns.Match(s.session.Title)
	err = s.countSubagents(func(c *core.SubagentStats) {
		c.TotalDetected++
		if framed {
			c.FramesCreated++
		}
	})
	if err != nil {
		return err
	}
	return s.emit(core.SubagentDetected, s.session.Root, map[string]any{"title": s.session.Title, "matched": s.session.IsSubagent})
}

func (s *step) makeTrackedFrame(parent string) error {
	if err := s.makeChild(parent); err != nil {
		return err
	}
	return s.countSubagents(func(c *core.SubagentStats) { c.FramesCreated++ })
}

// makeChild returns the caller's session a frame of its own below parent.
func (s *step) makeChild(parent string) error {
	frame, err := s.create(core.Frame{Parent: parent, Goal: core.SubagentGoal(s.session.Title), Status: core.InProgress})
	s.session.Root, s.session.Current = frame.ID, frame.ID
	return err
}

// tryHeuristics returns a watched session a frame if it has lived long enough and
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
	tracked, err := s.FindSessions(SessionQuery{Tracked: true})
	if err != nil {
		return err
	}
	for _, session := range tracked {
		if s.late() {
			return nil // the next one that falls idle goes on
		}
		old := s.now-session.LastActivityAt > core.Millis(trackedFor.Milliseconds())
		if session.IsCompleted && old && session.ID != s.session.ID {
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
		return session, core.NotFoundf("%q is not a tracked subagent session", id).WithHint("%s shows those that are", op.SubagentList)
	}
	return session, nil
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

func (s *step) countSubagents(count func(*core.SubagentStats)) error {
	var stats core.SubagentStats
	if _, err := recordSubagentStats.Load(s, statSubagents, &stats); err != nil {
		return err
	}
	count(&stats)
	return recordSubagentStats.Save(s, statSubagents, stats)
}
