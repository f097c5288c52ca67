// Package learned keeps the counts from which a project learns, and says what follows from
// them.
package learned

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

// counts returns what was counted so far. damage says why that cannot be used; it is then
// empty, and stays in the store as it is.
func counts(s *project.Step) (c learn.Counts, damage, err error) {
	var raw json.RawMessage
	known, err := recordLearned.Load(s.Tx, "", &raw)
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

// count changes what was counted, unless nothing is to be counted.
func count(s *project.Step, change func(*learn.Counts)) error {
	if !s.Project.Learn.Counts() {
		return nil
	}
	c, damage, err := counts(s)
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

// CountSuggestion counts what became of a suggestion, whose outcome was another before;
// empty for none.
func CountSuggestion(s *project.Step, ended core.Suggestion, before core.Outcome) error {
	if !learn.Teaches(ended.Outcome) {
		return nil
	}
	return count(s, func(c *learn.Counts) { c.Suggestion(ended.Type, ended.Heuristic, before, ended.Outcome) })
}

// CountFrame counts the end of the frame of a host's subagent, whose session has this
// title. wrote is what it said of its work; empty if nothing.
func CountFrame(s *project.Step, title string, frame core.Frame, wrote string) error {
	if !s.Project.Learn.Counts() {
		return nil
	}
	config, err := s.SubagentConfig()
	if err != nil {
		return err
	}
	kept, err := Bore(s, frame)
	if err != nil {
		return err
	}
	lasted := frame.EndedAt - frame.StartedAt
	ended := learn.Frame{Kept: kept || wrote != "", Short: 0 <= lasted && int64(lasted) < config.MinDuration, Duration: lasted}
	return count(s, func(c *learn.Counts) { c.Ended(core.SubagentType(title), ended) })
}

// Bore reports whether anything but a summary is left of the work in a frame: results,
// artifacts, decisions or frames below it.
func Bore(s *project.Step, frame core.Frame) (bool, error) {
	if frame.Results != "" || len(frame.Artifacts)+len(frame.Decisions) > 0 {
		return true, nil
	}
	below, err := s.Tx.FindFrames(project.FrameQuery{Parent: frame.ID, Archived: true, Limit: 1})
	return len(below) > 0, err
}

// CountSkip counts a subagent that got no frame, or with back takes that back.
func CountSkip(s *project.Step, title string, back bool) error {
	return count(s, func(c *learn.Counts) { c.Skipped(core.SubagentType(title), back) })
}

// MatchesTitle reports whether a title is that of a subagent by the patterns in force: as
// they are set and, if that is to apply, as was learned. Patterns that cannot be used
// match nothing.
func MatchesTitle(s *project.Step, config core.SubagentConfig, title string) (bool, error) {
	set, _ := core.CompilePatterns(config.SubagentPatterns)
	if s.Project.Learn.Mode != learn.On {
		return set.Match(title), nil
	}
	c, _, err := counts(s)
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

// Apply moves the thresholds of settings as was learned, if that is to apply.
func Apply(s *project.Step, config core.AutonomyConfig) (core.AutonomyConfig, error) {
	if s.Project.Learn.Mode != learn.On {
		return config, nil
	}
	c, _, err := counts(s)
	config.PushThreshold = c.Threshold(core.SuggestPush, config.PushThreshold, s.Project.Learn.Bounds).To
	config.PopThreshold = c.Threshold(core.SuggestPop, config.PopThreshold, s.Project.Learn.Bounds).To
	return config, err
}

// Lessons are what a project teaches.
type Lessons struct {
	Mode       learn.Mode        `json:"mode"`
	Bounds     int               `json:"bounds"` // points
	Thresholds []learn.Threshold `json:"thresholds"`
	Titles     []learn.Title     `json:"titles"`
	Damage     string            `json:"damage,omitempty"` // why what was counted is not used; empty if it is
}

// Of returns what the project teaches, where the thresholds are set as in config.
func Of(s *project.Step, config core.AutonomyConfig) (l Lessons, err error) {
	c, damage, err := counts(s)
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

// Forget drops all that was counted, and with it what follows from it.
func Forget(s *project.Step) error { return recordLearned.Delete(s.Tx, "") }
