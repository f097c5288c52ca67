package core

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// SubagentConfig says when a child session becomes a frame, and when that frame
// ends (the first description).
type SubagentConfig struct {
	Enabled             bool     `json:"enabled"`             // watch child sessions at all
	MinDuration         int64    `json:"minDuration"`         // ms a session of any other title must last
	MinMessageCount     int      `json:"minMessageCount"`     // messages it must have
	SubagentPatterns    []string `json:"subagentPatterns"`    // titles that mark a subagent at once: regular expressions, any case
	AutoCompleteOnIdle  bool     `json:"autoCompleteOnIdle"`  // complete the frame of an idle subagent
	IdleCompletionDelay int64    `json:"idleCompletionDelay"` // ms of idleness before that
	InjectParentContext bool     `json:"injectParentContext"` // children get their frame's context
	PropagateSummaries  bool     `json:"propagateSummaries"`  // a child's summary shows in its parent's completed-children
}

// DefaultSubagentConfig returns the defaults of the first description.
func DefaultSubagentConfig() SubagentConfig {
	return SubagentConfig{
		Enabled:             true,
		MinDuration:         60_000,
		MinMessageCount:     3,
		SubagentPatterns:    []string{"@.*subagent", "subagent", `\[Task\]`},
		AutoCompleteOnIdle:  true,
		IdleCompletionDelay: 5_000,
		InjectParentContext: true,
		PropagateSummaries:  true,
	}
}

// Patterns holds compiled title patterns. The zero value matches nothing.
type Patterns []*regexp.Regexp

// CompilePatterns compiles patterns once for many titles. It leaves out and
// reports those that are not RE2 syntax (look-around and back-references among
// others).
func CompilePatterns(patterns []string) (compiled Patterns, bad []error) {
	for _, pattern := range patterns {
		re, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			bad = append(bad, fmt.Errorf("pattern %q: %w", pattern, err))
			continue
		}
		compiled = append(compiled, re)
	}
	return compiled, bad
}

// CheckPattern returns an error unless a user may set pattern. A blank one is
// refused: it would make every session a subagent.
func CheckPattern(pattern string) error {
	if strings.TrimSpace(pattern) == "" {
		return Invalidf("a blank pattern would match every title").WithHint("leave it out, or give a regular expression such as @.*subagent")
	}
	if _, bad := CompilePatterns([]string{pattern}); len(bad) > 0 {
		return Invalidf("%v", bad[0]).WithHint("use Go's RE2 syntax, which has no look-around and no back-references")
	}
	return nil
}

// Match reports whether a pattern occurs anywhere in title, ignoring case.
func (p Patterns) Match(title string) bool {
	return slices.ContainsFunc(p, func(re *regexp.Regexp) bool { return re.MatchString(title) })
}

// MeetsFrameHeuristics reports whether a session whose title matches no pattern
// is worth a frame, given the ms since it was registered and its number of
// messages.
func MeetsFrameHeuristics(ageMs int64, messages int, cfg SubagentConfig) bool {
	return ageMs >= cfg.MinDuration && messages >= cfg.MinMessageCount
}

// SubagentTitle returns the title of a native subagent's session, which the
// default patterns match: "Find usages (@explore subagent)".
func SubagentTitle(description, agentType string) string {
	return strings.TrimSpace(fmt.Sprintf("%s (@%s subagent)", description, agentType))
}

// SubagentGoal returns the goal of a subagent's frame: its title without the
// type that hosts add. It undoes SubagentTitle.
func SubagentGoal(title string) string {
	goal, _ := splitTitle(title)
	return goal
}

// SubagentType returns the type of subagent that a title names; empty if there is none.
func SubagentType(title string) string {
	_, agentType := splitTitle(title)
	return agentType
}

func splitTitle(title string) (goal, agentType string) {
	const before, after = " (@", " subagent)"
	if i := strings.LastIndex(title, before); i > 0 && strings.HasSuffix(title, after) {
		return strings.TrimSpace(title[:i]), strings.TrimSuffix(title[i+len(before):], after)
	}
	return title, ""
}

// SubagentStats counts child sessions by their fate since LastReset. Each
// session got a frame, was skipped, or is undecided, and counts under one end:
// the first one if it was resumed.
type SubagentStats struct {
	TotalDetected       int    `json:"totalDetected"`
	FramesCreated       int    `json:"framesCreated"`
	SkippedByHeuristics int    `json:"skippedByHeuristics"`
	AutoCompleted       int    `json:"autoCompleted"`
	ManuallyCompleted   int    `json:"manuallyCompleted"`
	EndedByHost         int    `json:"endedByHost"`
	LastReset           Millis `json:"lastReset"`

	Types map[string]TypeCount `json:"types,omitempty"` // of children whose titles matched no pattern, by type
}

// A TypeCount counts child sessions of one type, and those of them that were worth a frame.
type TypeCount struct {
	Seen   int `json:"seen"`
	Framed int `json:"framed"`
}

// maxTypes limits the types that are counted.
const maxTypes = 64

// CountType adds to the counts of the type that a title names, if it names one.
func (s *SubagentStats) CountType(title string, more TypeCount) {
	name := SubagentType(title)
	count, known := s.Types[name]
	if name == "" || !known && len(s.Types) >= maxTypes {
		return
	}
	if s.Types == nil {
		s.Types = map[string]TypeCount{}
	}
	s.Types[name] = TypeCount{Seen: count.Seen + more.Seen, Framed: count.Framed + more.Framed}
}

// minSeen is how many child sessions of a type suffice to propose a pattern for it.
const minSeen = 10

// A TitlePattern is a pattern that would give the children of a type their frames at once.
type TitlePattern struct {
	Type    string `json:"type"`
	Pattern string `json:"pattern"`
	TypeCount
}

// TitlePatterns returns patterns for the types that no pattern matches, and of which at least ten
// children were seen and three in four were worth a frame.
func (s SubagentStats) TitlePatterns(patterns []string) (proposed []TitlePattern) {
	compiled, _ := CompilePatterns(patterns)
	for _, name := range slices.Sorted(maps.Keys(s.Types)) {
		count := s.Types[name]
		if count.Seen >= minSeen && 4*count.Framed >= 3*count.Seen && !compiled.Match(SubagentTitle("x", name)) {
			proposed = append(proposed, TitlePattern{name, regexp.QuoteMeta(SubagentTitle("", name)) + "$", count})
		}
	}
	return proposed
}

// Undecided returns the number of detected sessions that have no frame yet and were not skipped.
func (s SubagentStats) Undecided() int {
	return max(0, s.TotalDetected-s.FramesCreated-s.SkippedByHeuristics)
}
