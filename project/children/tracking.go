package children

import (
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

const (
	recordSubagentStats project.Kind[core.SubagentStats] = "stats"
	statSubagents       string                           = "subagents" // the only id

	// IdleDeadline, by session, is the kind of deadline that completes an idle
	// session's frame.
	IdleDeadline string = "subagent_idle"
)

// countSubagents changes the counters.
func countSubagents(s *project.Step, count func(*core.SubagentStats)) error {
	var stats core.SubagentStats
	if _, err := recordSubagentStats.Load(s.Tx, statSubagents, &stats); err != nil {
		return err
	}
	count(&stats)
	return recordSubagentStats.Save(s.Tx, statSubagents, stats)
}

// countEnd counts how the caller's session, a tracked child with a frame, ended first.
func countEnd(s *project.Step, how project.Ending) error {
	theirs, err := s.PresenceOf(s.Session.ID)
	if err != nil || !s.Session.Tracked || !s.Session.HasFrame() || theirs.Counted {
		return err
	}
	theirs.Counted = true
	return errors.Join(s.SavePresence(s.Session.ID, theirs), countSubagents(s, func(c *core.SubagentStats) {
		switch {
		case how.Idle:
			c.AutoCompleted++
		case how.Hand:
			c.ManuallyCompleted++
		default:
			c.EndedByHost++
		}
	}))
}

// countDetected counts a child that was seen, and its frame if it has one.
func countDetected(s *project.Step, framed bool) error {
	return countSubagents(s, func(c *core.SubagentStats) {
		c.TotalDetected++
		if framed {
			c.FramesCreated++
		}
	})
}

// watch makes the caller's session a tracked subagent, if it is to be watched.
func watch(s *project.Step, watched bool) error {
	config, err := s.SubagentConfig()
	if err != nil || !watched || s.Session.Tracked {
		return err
	}
	s.Session.Tracked, s.Session.IsSubagent = true, matches(config, s.Session.Title)
	return nil
}

// matches reports whether a title is that of a subagent. Patterns that cannot be used
// match nothing.
func matches(config core.SubagentConfig, title string) bool {
	patterns, _ := core.CompilePatterns(config.SubagentPatterns)
	return patterns.Match(title)
}

// track begins to track the caller's session as a child of frame parent, unless the
// settings say that flame watches no children.
func track(s *project.Step, parent string) error {
	if s.Session.Title == "" {
		s.Session.Title = "Subagent task"
	}
	config, err := s.SubagentConfig()
	if err != nil || !config.Enabled {
		return err
	}
	if err := watch(s, true); err != nil {
		return err
	}
	if s.Session.IsSubagent {
		if err := makeChild(s, parent); err != nil {
			return err
		}
	}
	if err := countDetected(s, s.Session.IsSubagent); err != nil {
		return err
	}
	return s.Emit(core.SubagentDetected, s.Session.Root, map[string]any{"title": s.Session.Title, "matched": s.Session.IsSubagent})
}

// tryHeuristics gives a tracked session a frame if it has lasted long enough and
// exchanged enough messages; if not, it counts as skipped, once.
func tryHeuristics(s *project.Step) error {
	if !s.Session.Tracked || s.Session.HasFrame() || s.Session.IsCompleted {
		return nil
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return err
	}
	parent, err := s.ParentFrame()
	if err != nil {
		return err
	}
	age := int64(s.Now - s.Session.CreatedAt)
	if parent != "" && core.MeetsFrameHeuristics(age, s.Session.MessageCount, config) {
		return makeTrackedFrame(s, parent)
	}
	if s.Session.Skipped {
		return nil
	}
	s.Session.Skipped = true
	return countSubagents(s, func(c *core.SubagentStats) { c.SkippedByHeuristics++ })
}

func makeTrackedFrame(s *project.Step, parent string) error {
	if err := makeChild(s, parent); err != nil {
		return err
	}
	skipped := s.Session.Skipped
	s.Session.Skipped = false
	return countSubagents(s, func(c *core.SubagentStats) {
		c.FramesCreated++
		if skipped {
			c.SkippedByHeuristics = max(0, c.SkippedByHeuristics-1) // the counters may have been reset since
		}
	})
}

// makeChild gives the caller's session a frame of its own below parent.
func makeChild(s *project.Step, parent string) error {
	frame, err := s.Create(core.Frame{Parent: parent, Goal: core.SubagentGoal(s.Session.Title), Status: core.InProgress})
	s.Session.Root, s.Session.Current = frame.ID, frame.ID
	return err
}

// maxRunning is how many children are looked at, the latest active first, for one that
// still runs.
const maxRunning = 100

// Running reports whether children of the caller's session have not ended.
func Running(s *project.Step) (bool, error) {
	below, err := s.Tx.FindSessions(project.SessionQuery{Parent: s.Session.ID, Limit: maxRunning})
	return slices.ContainsFunc(below, func(child core.Session) bool {
		return !child.IsCompleted && child.State != core.SessionEnded
	}), err
}

// trackedSession returns a tracked child session by its id or its frame's.
func trackedSession(s *project.Step, ref string) (core.Session, error) {
	id := ref
	if id == "" {
		id = s.Session.ID
	}
	session, err := s.Tx.Session(id)
	if errors.Is(err, core.ErrNotFound) {
		frame, resolveErr := s.Resolve(ref)
		if resolveErr == nil && frame.Session != "" {
			session, err = s.Tx.Session(frame.Session)
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
