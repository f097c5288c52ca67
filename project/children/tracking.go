package children

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

const (
	recordSubagentStats project.RecordKind[core.SubagentStats] = "project.subagents_stats"

	// WorthDeadline, by session, is the kind of deadline at which flame looks again at a
	// child that has no frame and still works.
	WorthDeadline string = "subagent_worth"

	// IdleDeadline, by session, is the kind of deadline that completes an idle
	// session's frame.
	IdleDeadline string = "subagent_idle"
)

// countSubagents changes the counters for a child detected at a time, unless they were reset
// since: they count only children that were detected after the reset.
func countSubagents(s *project.Op, detected core.Millis, count func(*core.SubagentStats)) error {
	stats, err := recordSubagentStats.Find(s.Tx, "")
	if err != nil || detected < stats.LastReset {
		return err
	}
	count(&stats)
	return recordSubagentStats.Save(s.Tx, "", stats)
}

// countFramed counts that the caller's session, a tracked child, has a frame: one that flame
// made for it, or that it made itself before it ended. The child no longer counts as skipped.
func countFramed(s *project.Op) error {
	if !s.Session.Tracked || !s.Session.HasFrame() || s.Session.IsCompleted {
		return nil
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || mine.FrameCounted {
		return err
	}
	skipped := s.Session.Skipped
	mine.FrameCounted, s.Session.Skipped = true, false
	return errors.Join(project.RecordHookState.Save(s.Tx, s.Session.ID, mine), countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) {
		c.FramesCreated++
		if skipped {
			c.SkippedByHeuristics--
		}
		if !s.Session.IsSubagent {
			c.CountType(s.Session.Title, core.TypeCount{Framed: 1})
		}
	}))
}

// noteCounted records how flame counted the caller's session before it knew the session.
func noteCounted(s *project.Op, framed, ended bool) error {
	return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) {
		mine.FrameCounted, mine.EndCounted = mine.FrameCounted || framed, mine.EndCounted || ended
	})
}

// countEnd counts the first end of the caller's session, a tracked child with a frame.
func countEnd(s *project.Op, how project.ChildOutcome) error {
	theirs, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || !theirs.FrameCounted || theirs.EndCounted {
		return err
	}
	theirs.EndCounted = true
	return errors.Join(project.RecordHookState.Save(s.Tx, s.Session.ID, theirs), countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) {
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

// countDetected counts a new child with a title, and its frame if it has one at once.
func countDetected(s *project.Op, title string, framed bool) error {
	return countSubagents(s, s.Now, func(c *core.SubagentStats) {
		c.TotalDetected++
		if framed {
			c.FramesCreated++
		} else {
			c.CountType(title, core.TypeCount{Seen: 1})
		}
	})
}

// watch makes the caller's session a tracked subagent, if watched is set.
func watch(s *project.Op, watched bool) error {
	config, err := s.SubagentConfig()
	if err != nil || !watched || s.Session.Tracked {
		return err
	}
	s.Session.Tracked = true
	patterns, _ := core.CompilePatterns(config.SubagentPatterns) // invalid ones match nothing
	s.Session.IsSubagent = patterns.Match(s.Session.Title)
	return nil
}

// track begins to track the caller's session as a child of frame parent, unless the
// settings say that flame watches no children.
func track(s *project.Op, parent string) error {
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
	if err := errors.Join(countDetected(s, s.Session.Title, s.Session.IsSubagent), noteCounted(s, s.Session.IsSubagent, false), lookLater(s, "")); err != nil {
		return err
	}
	return s.Emit(core.SubagentDetected, s.Session.Root, map[string]any{
		"title": s.Session.Title, "matched": s.Session.IsSubagent, "agentType": core.SubagentType(s.Session.Title),
	})
}

// tryHeuristics gives a tracked session a frame if it has lasted long enough and
// exchanged enough messages. Otherwise it counts the session as skipped, once.
func tryHeuristics(s *project.Op) error {
	if !isUndecided(s.Session) {
		return countFramed(s)
	}
	if err := MakeFrameIfWorth(s); err != nil || s.Session.HasFrame() || s.Session.Skipped {
		return err
	}
	s.Session.Skipped = true
	return countSubagents(s, s.Session.CreatedAt, func(c *core.SubagentStats) { c.SkippedByHeuristics++ })
}

// isUndecided reports whether a session is a running child that may still get a frame.
func isUndecided(s core.Session) bool { return s.Tracked && !s.HasFrame() && !s.IsCompleted }

// MakeFrameIfWorth gives the caller's session a frame if it is a child that is worth one by now. Any
// other child stays undecided while it works.
func MakeFrameIfWorth(s *project.Op) error {
	if !isUndecided(s.Session) {
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
	if err := makeChild(s, parent); err != nil {
		return err
	}
	return errors.Join(countFramed(s), s.Tx.ClearDeadline(WorthDeadline, s.Session.ID))
}

// CheckSilentChild is MakeFrameIfWorth for a child that has reported nothing. Look has the host's log of the child
// counted, and sets the time of the next Look, later each time, until the child has a frame
// or ends.
func CheckSilentChild(s *project.Op, id string) error {
	child, err := s.Tx.Session(id)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	return s.AsSession(child, func(s *project.Op) error {
		if err := MakeFrameIfWorth(s); err != nil || !isUndecided(s.Session) {
			return err
		}
		return errors.Join(s.CountLater(""), lookAt(s, s.Now+max(lookAgain, (s.Now-s.Session.CreatedAt)/8)))
	})
}

// lookAgain is the shortest time between two looks at a child, in ms.
const lookAgain = core.Millis(3_000)

func lookAt(s *project.Op, due core.Millis) error {
	return s.Tx.SetDeadline(project.Deadline{Kind: WorthDeadline, Subject: s.Session.ID, Due: due, Set: s.Now})
}

// lookLater has flame look at the caller's session, a child without a frame, when it is old
// enough to be worth one. Its log at path is counted, if there is one.
func lookLater(s *project.Op, path string) error {
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

// makeChild gives the caller's session a frame of its own below parent.
func makeChild(s *project.Op, parent string) error {
	frame, err := s.Create(core.Frame{Parent: parent, Goal: core.SubagentGoal(s.Session.Title), Status: core.InProgress})
	s.Session.Root, s.Session.Current = frame.ID, frame.ID
	return err
}

// maxRunning limits the children among which Running looks for one that still runs, the
// latest active first.
const maxRunning = 100

// Running reports whether children of the caller's session have not ended.
func Running(s *project.Op) (bool, error) {
	below, err := s.Tx.FindSessions(project.SessionQuery{Parent: s.Session.ID, Limit: maxRunning})
	return slices.ContainsFunc(below, func(child core.Session) bool {
		return !child.IsCompleted && child.State != core.SessionEnded
	}), err
}

// trackedSession returns a tracked child session by its id or by the id of its frame.
func trackedSession(s *project.Op, ref string) (core.Session, error) {
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

// A Patch is a change of the subagent settings; nil leaves a field unchanged.
type Patch struct {
	Enabled             *bool     `json:"enabled,omitempty"`
	MinDuration         *int64    `json:"minDuration,omitempty"` // ms
	MinMessageCount     *int      `json:"minMessageCount,omitempty"`
	SubagentPatterns    *[]string `json:"subagentPatterns,omitempty"`
	AutoCompleteOnIdle  *bool     `json:"autoCompleteOnIdle,omitempty"`
	IdleCompletionDelay *int64    `json:"idleCompletionDelay,omitempty"` // ms
	InjectParentContext *bool     `json:"injectParentContext,omitempty"`
	PropagateSummaries  *bool     `json:"propagateSummaries,omitempty"`
}

func (c Patch) check(addPattern string) error {
	if addPattern != "" {
		if err := core.CheckPattern(addPattern); err != nil {
			return err
		}
	}
	for name, v := range map[string]*int64{"minDuration": c.MinDuration, "idleCompletionDelay": c.IdleCompletionDelay} {
		if v != nil && *v < 0 {
			return core.Invalidf("%s %d is negative", name, *v).WithHint("give a number of ms, 0 or more")
		}
	}
	if c.MinMessageCount != nil && *c.MinMessageCount < 0 {
		return core.Invalidf("minMessageCount %d is negative", *c.MinMessageCount).WithHint("give a number, 0 or more")
	}
	return nil
}

// Settings are the subagent settings in force.
type Settings struct {
	core.SubagentConfig
	Changed []string // names of the fields set in the project's store; the others follow the environment
	Updated bool     // this call changed some
}

// Configure changes the subagent settings of the project, all of them or none, and returns
// the settings in force. With an empty patch and no patterns it changes nothing.
func Configure(ctx context.Context, p *project.Project, by project.Caller, patch Patch, addPattern, removePattern string) (now Settings, err error) {
	if err := patch.check(addPattern); err != nil {
		return now, err
	}
	read := func(s *project.Op) error {
		if now.SubagentConfig, err = s.SubagentConfig(); err != nil {
			return err
		}
		now.Changed, err = project.SettingSubagents.Changed(s.Tx)
		return err
	}
	if patch == (Patch{}) && addPattern == "" && removePattern == "" {
		return now, p.View(ctx, by, read)
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		config, err := s.SubagentConfig()
		if err != nil {
			return err
		}
		patch.SubagentPatterns = cmp.Or(project.AddRemove(config.SubagentPatterns, addPattern, removePattern), patch.SubagentPatterns)
		if now.Updated, err = project.SettingSubagents.Change(s.Tx, patch); err != nil {
			return err
		}
		return read(s)
	})
	return now, err
}
