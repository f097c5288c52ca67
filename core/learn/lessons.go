package learn

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"

	"flame/core"
)

// The least evidence for a change.
const (
	minMoves  = 8  // suggestions whose outcome speaks for moving a threshold
	minFrames = 10 // frames of one type of subagent
)

// nearly is the share that counts as "nearly always", at the lower end of the interval.
const nearly = 0.75

// The rules, a sentence each. They use Wilson's score interval of a share at 95 % (E. B. Wilson,
// Probable Inference, JASA 22, 1927), which is wide while there is little evidence.
const (
	RuleRaise = "8 or more ignored or undone, and the share followed is below 1/2 at the upper end of Wilson's 95 % interval: " +
		"up by the part of the bounds by which that end is below 1/2"
	RuleLower = "8 or more acted on, and the share acted on is above 1/2 at the lower end of Wilson's 95 % interval: " +
		"down by the part of the bounds by which that end is above 1/2"
	RuleDrop = "10 or more frames, of which the share empty and short is at least 3/4 at the lower end of Wilson's 95 % interval"
	RuleAdd  = "no pattern matches, 10 or more frames or skips, of which the share kept is at least 3/4 at the lower end of Wilson's 95 % interval"
)

// A Threshold is what flame learned about a threshold.
type Threshold struct {
	Type core.SuggestionType `json:"type"`
	From int                 `json:"from"` // the configured value
	To   int                 `json:"to"`   // the learned value
	Rule string              `json:"rule,omitempty"`
	Share
	All Tally            `json:"all"`
	By  map[string]Tally `json:"by,omitempty"` // heuristic
}

// A Share is the share of suggestions or frames with one outcome, and its likely range.
type Share struct {
	Part int     `json:"part"`
	Of   int     `json:"of"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Change says how to change a pattern.
type Change string

// The changes.
const (
	Add  Change = "add"  // subagents of the type should get frames at once
	Drop Change = "drop" // they should not, although a pattern matches their titles
)

// A Title is what flame learned about the titles of subagents of one type.
type Title struct {
	Type    string `json:"type"`
	Change  Change `json:"change,omitempty"`  // empty: no change
	Pattern string `json:"pattern,omitempty"` // matches only titles of this type
	Rule    string `json:"rule,omitempty"`
	Share
	Frames Frames `json:"frames"`
}

// Threshold returns what flame learned about the threshold of pushes or pops that is configured as
// from. The learned value stays within bounds of from and within 0..100. Learning never lowers it
// to 0, which would recommend everything.
func (c Counts) Threshold(kind core.SuggestionType, from, bounds int) Threshold {
	t := Threshold{Type: kind, From: from, To: from, By: c.Suggestions[kind]}
	for _, tally := range t.By {
		t.All = t.All.plus(tally)
	}
	bad := t.All.Ignored + t.All.Undone
	// Moves that flame made itself are no approval, but nobody took them back either.
	followed, acted := shareOf(t.All.Acted+t.All.Done, t.All.sum()), shareOf(t.All.Acted, t.All.Acted+bad)
	t.Share = followed
	switch {
	case bad >= minMoves && followed.High < 0.5:
		t.To, t.Rule = min(from+part(bounds, 1-2*followed.High), max(from, 100)), RuleRaise
	case t.All.Acted >= minMoves && acted.Low > 0.5:
		t.To, t.Rule, t.Share = max(from-part(bounds, 2*acted.Low-1), min(from, 1)), RuleLower, acted
	}
	if t.To == t.From {
		t.Rule = ""
	}
	return t
}

// part returns a share, 0..1, of the bounds in whole points.
func part(bounds int, share float64) int { return int(math.Round(float64(max(bounds, 0)) * share)) }

// Titles returns what flame learned about the titles of subagents, by type. matches reports whether
// a title gets a frame at once with the configured patterns.
func (c Counts) Titles(matches func(title string) bool) (titles []Title) {
	for _, name := range slices.Sorted(maps.Keys(c.Subagents)) {
		f := c.Subagents[name]
		t := Title{Type: name, Frames: f}
		if matches(core.SubagentTitle("x", name)) {
			t.Share = shareOf(f.Short, f.Kept+f.Empty)
			t.change(Drop, RuleDrop)
		} else {
			t.Share = shareOf(f.Kept, f.sum())
			t.change(Add, RuleAdd)
		}
		titles = append(titles, t)
	}
	return titles
}

// change sets the change if there is enough evidence. Subagents without a type offer nothing for a
// pattern.
func (t *Title) change(to Change, rule string) {
	if t.Type != "" && t.Of >= minFrames && t.Low >= nearly {
		t.Change, t.Rule, t.Pattern = to, rule, regexp.QuoteMeta(core.SubagentTitle("", t.Type))+"$"
	}
}

// Matches reports whether the change applies to a title.
func (t Title) Matches(title string) bool {
	patterns, _ := core.CompilePatterns([]string{t.Pattern})
	return t.Pattern != "" && patterns.Match(title)
}

// shareOf returns a share with Wilson's score interval at 95 %.
func shareOf(some, of int) Share {
	s := Share{Part: some, Of: of, High: 1}
	if of == 0 {
		return s
	}
	const z2 = 1.96 * 1.96
	n, p := float64(of), float64(some)/float64(of)
	middle := (p + z2/(2*n)) / (1 + z2/n)
	half := math.Sqrt(z2*(p*(1-p)/n+z2/(4*n*n))) / (1 + z2/n)
	// At the ends the exact results are 0 and 1; rounding could change the last digit.
	if some > 0 {
		s.Low = max(0, middle-half)
	}
	if some < of {
		s.High = min(1, middle+half)
	}
	return s
}

// Heuristics returns the names in By, the most frequent first.
func (t Threshold) Heuristics() []string {
	names := slices.Sorted(maps.Keys(t.By))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(t.By[b].sum(), t.By[a].sum()) })
	return names
}
