package autonomy

import (
	"cmp"
	"encoding/json"
	"errors"

	"flame/core"
	"flame/core/learn"
	"flame/project"
)

// recordLearned has one record, under no id: the learn.Counts of the project.
const recordLearned project.Kind[json.RawMessage] = "learned"

// learnedCounts returns the counts so far. damage says why flame cannot use them: c is then
// empty, and the record stays as it is.
func learnedCounts(s *project.Step) (c learn.Counts, damage, err error) {
	raw, known, err := recordLearned.Get(s.Tx, "")
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return c, errors.New("it is not JSON"), nil
	case err != nil || !known:
		return learn.Counts{V: learn.Version}, nil, err
	}
	c, damage = learn.Decode(raw)
	return c, damage, nil
}

// countLearned changes the counts, unless the settings say that flame counts nothing.
func countLearned(s *project.Step, change func(*learn.Counts)) error {
	if !s.Project.Learn.Counts() {
		return nil
	}
	c, damage, err := learnedCounts(s)
	if err != nil || damage != nil {
		return err
	}
	change(&c)
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return recordLearned.Save(s.Tx, "", raw)
}

// countSuggestion counts the outcome of a suggestion, and subtracts its outcome before, which
// may be empty.
func countSuggestion(s *project.Step, ended core.Suggestion, before core.Outcome) error {
	if !learn.Teaches(ended.Outcome) {
		return nil
	}
	return countLearned(s, func(c *learn.Counts) { c.Suggestion(ended.Type, ended.Heuristic, before, ended.Outcome) })
}

// CountFrame counts the end of the frame of a host's subagent, whose session has this title.
// wrote is the subagent's own text about its work; it may be empty.
func CountFrame(s *project.Step, title string, frame core.Frame, wrote string) error {
	if !s.Project.Learn.Counts() {
		return nil
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return err
	}
	kept, err := bore(s, frame)
	if err != nil {
		return err
	}
	lasted := frame.EndedAt - frame.StartedAt
	ended := learn.Frame{Kept: kept || wrote != "", Short: 0 <= lasted && int64(lasted) < config.MinDuration, Duration: lasted}
	return countLearned(s, func(c *learn.Counts) { c.Ended(core.SubagentType(title), ended) })
}

// bore reports whether the work in a frame left more than a summary: results, artifacts,
// decisions or frames below it.
func bore(s *project.Step, frame core.Frame) (bool, error) {
	if frame.Results != "" || len(frame.Artifacts)+len(frame.Decisions) > 0 {
		return true, nil
	}
	below, err := s.Tx.FindFrames(project.FrameQuery{Parent: frame.ID, Archived: true, Limit: 1})
	return len(below) > 0, err
}

// CountSkip counts a subagent that got no frame, or with back subtracts it.
func CountSkip(s *project.Step, title string, back bool) error {
	return countLearned(s, func(c *learn.Counts) { c.Skipped(core.SubagentType(title), back) })
}

// MatchesTitle reports whether a title is that of a subagent, by the patterns in the settings
// and, if they apply, by the learned titles. Invalid patterns match nothing.
func MatchesTitle(s *project.Step, config core.SubagentConfig, title string) (bool, error) {
	set, _ := core.CompilePatterns(config.SubagentPatterns)
	if s.Project.Learn.Mode != learn.On {
		return set.Match(title), nil
	}
	c, _, err := learnedCounts(s)
	if err != nil {
		return false, err
	}
	for _, t := range c.Titles(set.Match) {
		if t.Matches(title) {
			return t.Change == learn.Add, nil
		}
	}
	return set.Match(title), nil
}

// Lessons are what flame learned from a project.
type Lessons struct {
	Mode       learn.Mode        `json:"mode"`
	Bounds     int               `json:"bounds"` // points
	Thresholds []learn.Threshold `json:"thresholds"`
	Titles     []learn.Title     `json:"titles"`
	Damage     string            `json:"damage,omitempty"` // why flame does not use the counts; empty if it does
}

// lessonsOf returns the lessons of the project, for thresholds set as in config.
func lessonsOf(s *project.Step, config core.AutonomyConfig) (l Lessons, err error) {
	c, damage, err := learnedCounts(s)
	if err != nil {
		return l, err
	}
	subagents, err := s.SubagentConfig()
	if err != nil {
		return l, err
	}
	patterns, _ := core.CompilePatterns(subagents.SubagentPatterns)
	how := s.Project.Learn
	l = Lessons{
		Mode: cmp.Or(how.Mode, learn.Off), Bounds: how.Bounds, Titles: append([]learn.Title{}, c.Titles(patterns.Match)...),
		Thresholds: []learn.Threshold{
			c.Threshold(core.SuggestPush, config.PushThreshold, how.Bounds), c.Threshold(core.SuggestPop, config.PopThreshold, how.Bounds),
		},
	}
	if damage != nil {
		l.Damage = damage.Error()
	}
	return l, nil
}

const (
	settingAutonomy project.Setting[core.AutonomyConfig] = "autonomy"

	recordAutonomyStats project.Kind[core.AutonomyStats] = "stats"
	statAutonomy        string                           = "autonomy" // the only id
)

// configured returns the settings without learned changes.
func configured(s *project.Step) (core.AutonomyConfig, error) {
	return settingAutonomy.In(s.Tx, s.Project.Autonomy)
}

// configOf returns the settings in force: with the learned changes, if they apply.
func configOf(s *project.Step) (core.AutonomyConfig, error) {
	config, err := configured(s)
	if err != nil || s.Project.Learn.Mode != learn.On {
		return config, err
	}
	c, _, err := learnedCounts(s)
	config.PushThreshold = c.Threshold(core.SuggestPush, config.PushThreshold, s.Project.Learn.Bounds).To
	config.PopThreshold = c.Threshold(core.SuggestPop, config.PopThreshold, s.Project.Learn.Bounds).To
	return config, err
}

// Judges reports whether flame judges events by itself: it does not at level manual, and not
// late events.
func Judges(s *project.Step) (bool, error) {
	config, err := configOf(s)
	return config.Level != core.AutonomyManual && !s.Project.Late, err
}

// UpdateStats applies count to the counters.
func UpdateStats(s *project.Step, count func(*core.AutonomyStats)) error {
	return recordAutonomyStats.Change(s.Tx, statAutonomy, count)
}
