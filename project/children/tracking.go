package children

import (
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/learned"
)

const (
	recordSubagentStats project.Kind[core.SubagentStats] = "stats"
	statSubagents       string                           = "subagents" // the only id

	// WorthDeadline, by session, is the kind of deadline at which a child that has no frame
	// and still works is looked at again.
	WorthDeadline string = "subagent_worth"

	// IdleDeadline, by session, is the kind of deadline that completes an idle
	// session's frame.
	IdleDeadline string = "subagent_idle"
)

// countSubagents changes the counters for a child that was detected at a time, unless
// they were reset since: they are of the sessions that were detected after that.
func countSubagents(s *project.Step, detected core.Millis, count func(*core.SubagentStats)) error {
	var stats core.SubagentStats
	if _, err := recordSubagentStats.Load(s.Tx, statSubagents, &stats); err != nil || detected < stats.LastReset {
		return err
	}
	count(&stats)
	return recordSubagentStats.Save(s.Tx, statSubagents, stats)
}

// countFramed counts that the caller's session, a tracked child, has a frame: one that was
// made for it, or that it made itself before it ended. If it was skipped before, it no
// longer is.
func countFramed(s *project.Step) error {
	if !s.Session.Tracked || !s.Session.HasFrame() || s.Session.IsCompleted {
		return nil
	}
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil || mine.Framed {
		return err
	}
	skipped := s.Session.Skipped
	mine.Framed, s.Session.Skipped = true, false
	if skipped {
		if err := learned.CountSkip(s, s.Session.Title, true); err != nil {
			return err
		}
	}
	return errors.Join(s.SavePresence(s.Session.ID, mine), countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) {
		c.FramesCreated++
		if skipped {
			c.SkippedByHeuristics--
		}
	}))
}

// noteCounted records what was counted of the caller's session before it was known.
func noteCounted(s *project.Step, framed, ended bool) error {
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil {
		return err
	}
	mine.Framed, mine.Counted = mine.Framed || framed, mine.Counted || ended
	return s.SavePresence(s.Session.ID, mine)
}

// countEnd counts how the caller's session, a tracked child with a frame, ended first, and
// reports whether it did so now.
func countEnd(s *project.Step, how project.Ending) (first bool, err error) {
	theirs, err := s.PresenceOf(s.Session.ID)
	if err != nil || !theirs.Framed || theirs.Counted {
		return false, err
	}
	theirs.Counted = true
	return true, errors.Join(s.SavePresence(s.Session.ID, theirs), countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) {
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
	return countSubagents(s, s.Now, func(c *core.SubagentStats) {
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
	s.Session.Tracked = true
	s.Session.IsSubagent, err = learned.MatchesTitle(s, config, s.Session.Title)
	return err
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
	if err := errors.Join(countDetected(s, s.Session.IsSubagent), noteCounted(s, s.Session.IsSubagent, false), lookLater(s, "")); err != nil {
		return err
	}
	return s.Emit(core.SubagentDetected, s.Session.Root, map[string]any{"title": s.Session.Title, "matched": s.Session.IsSubagent})
}

// tryHeuristics gives a tracked session a frame if it has lasted long enough and
// exchanged enough messages; if not, it counts as skipped, once.
func tryHeuristics(s *project.Step) error {
	if !s.Session.Tracked || s.Session.HasFrame() || s.Session.IsCompleted {
		return countFramed(s)
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
	return errors.Join(
		countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) { c.SkippedByHeuristics++ }),
		learned.CountSkip(s, s.Session.Title, false),
	)
}

// Weigh gives the caller's session a frame if it is a child that is worth one by now. One
// that is not, or not yet, stays undecided while it works.
func Weigh(s *project.Step) error {
	if !s.Session.Tracked || s.Session.HasFrame() || s.Session.IsCompleted {
		return nil
	}
	config, err := s.SubagentConfig()
	if err != nil || !core.MeetsFrameHeuristics(int64(s.Now-s.Session.CreatedAt), s.Session.MessageCount, config) {
		return err
	}
	parent, err := s.ParentFrame()
	if err != nil || parent == "" {
		return err
	}
	return errors.Join(makeTrackedFrame(s, parent), s.Tx.ClearDeadline(WorthDeadline, s.Session.ID))
}

// Look is Weigh for a child that has said nothing: its host's log is counted, and it is
// looked at again, less and less often, until it has a frame or ends.
func Look(s *project.Step, id string) error {
	child, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	return s.As(child, func(s *project.Step) error {
		if err := Weigh(s); err != nil || !s.Session.Tracked || s.Session.HasFrame() || s.Session.IsCompleted {
			return err
		}
		return errors.Join(s.CountLater(""), lookAt(s, s.Now+max(lookAgain, (s.Now-s.Session.CreatedAt)/8)))
	})
}

// lookAgain is how long it takes at least until a child is looked at again, in ms.
const lookAgain = core.Millis(3_000)

func lookAt(s *project.Step, due core.Millis) error {
	return s.Tx.SetDeadline(project.Deadline{Kind: WorthDeadline, Subject: s.Session.ID, Due: due, Set: s.Now})
}

// lookLater has the caller's session, a child without a frame, looked at when it is old
// enough to be worth one. Its log at path is counted, if there is one.
func lookLater(s *project.Step, path string) error {
	if !s.Session.Tracked || s.Session.HasFrame() {
		return nil
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return err
	}
	if path != "" {
		if err := s.CountLater(path); err != nil {
			return err
		}
	}
	return lookAt(s, s.Session.CreatedAt+core.Millis(config.MinDuration))
}

func makeTrackedFrame(s *project.Step, parent string) error {
	if err := makeChild(s, parent); err != nil {
		return err
	}
	return countFramed(s)
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
