package project

import (
	"errors"

	"flame/core"
	"flame/core/op"
)

const (
	// Counters, under the one id that they have.
	recordSubagentStats Kind[core.SubagentStats] = "stats"
	statSubagents                                = "subagents"

	deadlineIdle = "subagent_idle" // by session: complete its frame
)

// countSubagents changes the counters.
func (s *step) countSubagents(count func(*core.SubagentStats)) error {
	var stats core.SubagentStats
	if _, err := recordSubagentStats.Load(s, statSubagents, &stats); err != nil {
		return err
	}
	count(&stats)
	return recordSubagentStats.Save(s, statSubagents, stats)
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
