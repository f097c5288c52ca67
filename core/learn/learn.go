// Package learn derives from counts what a project teaches: where the thresholds of a push
// and of a pop should be, and which titles of subagents deserve frames at once. It is
// arithmetic on the counts alone: no model, no network, no clock.
package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"flame/core"
)

// Mode says what is done with what was learned.
type Mode string

// The modes.
const (
	Off     Mode = "off"     // nothing is counted, nothing applies
	Suggest Mode = "suggest" // it is counted and proposed
	On      Mode = "on"      // it is counted and applies
)

// Settings say what learning may do.
type Settings struct {
	Mode   Mode // empty: Off
	Bounds int  // points, 0..100, that a threshold may be from the one that is set
}

// Counts reports whether anything is counted.
func (s Settings) Counts() bool { return s.Mode == Suggest || s.Mode == On }

// Version is the version of Counts written today.
const Version = 1

// Limits of Counts, which keep it small whatever names occur. Beyond them the name with
// the least behind it goes.
const (
	maxHeuristics = 32
	maxTypes      = 64
	maxName       = 60 // characters; a longer one counts as no name
)

// Counts are what became of a project's suggestions and of its subagents' frames.
type Counts struct {
	V           int                                      `json:"v"`
	Suggestions map[core.SuggestionType]map[string]Tally `json:"suggestions,omitempty"` // by the strongest heuristic
	Subagents   map[string]Frames                        `json:"subagents,omitempty"`   // by type; empty: without one
}

// A Tally counts what became of suggestions, each in one way.
type Tally struct {
	Acted   int `json:"acted"`   // the agent did it
	Done    int `json:"done"`    // flame did it, at level auto
	Ignored int `json:"ignored"` // shown, and nothing came of it
	Undone  int `json:"undone"`  // followed or done, and then taken back
}

func (t Tally) sum() int { return t.Acted + t.Done + t.Ignored + t.Undone }

func (t Tally) plus(u Tally) Tally {
	return Tally{t.Acted + u.Acted, t.Done + u.Done, t.Ignored + u.Ignored, t.Undone + u.Undone}
}

// at returns the count of an outcome; nil of one that teaches nothing.
func (t *Tally) at(o core.Outcome) *int {
	switch o {
	case core.Acted:
		return &t.Acted
	case core.Done:
		return &t.Done
	case core.Ignored:
		return &t.Ignored
	case core.Undone:
		return &t.Undone
	}
	return nil
}

// Teaches reports whether anything can be learned from suggestions of this outcome.
func Teaches(o core.Outcome) bool { return new(Tally).at(o) != nil }

// Frames counts the frames of subagents of one type.
type Frames struct {
	Kept    int   `json:"kept"`    // ended with a summary, decisions, artifacts or frames of their own
	Empty   int   `json:"empty"`   // ended without
	Short   int   `json:"short"`   // of Empty, those that lasted less than FLAME_SUBAGENT_MIN_DURATION
	Skipped int   `json:"skipped"` // subagents that got no frame: too short, or with too little to say
	KeptMs  int64 `json:"keptMs"`  // ms that the kept ones lasted in all
	EmptyMs int64 `json:"emptyMs"` // ms that the empty ones lasted in all
}

func (f Frames) sum() int { return f.Kept + f.Empty + f.Skipped }

// A Frame is the frame of a subagent that ended.
type Frame struct {
	Kept     bool
	Short    bool
	Duration core.Millis // less than 0 if the clock was set back
}

// maxDuration limits what one frame adds to the time of all: the machine may have slept.
const maxDuration = core.Millis(24 * 60 * 60 * 1000)

// Suggestion counts a suggestion of a type and heuristic whose outcome was from, empty
// before it had any, and is to now.
func (c *Counts) Suggestion(kind core.SuggestionType, heuristic string, from, to core.Outcome) {
	of := c.Suggestions[kind]
	if of == nil {
		of = map[string]Tally{}
	}
	name := nameOf(heuristic)
	t := of[name]
	before := t
	if n := t.at(from); n != nil {
		*n = max(0, *n-1)
	}
	if n := t.at(to); n != nil {
		*n++
	}
	if t == before {
		return
	}
	if of[name] = t; c.Suggestions == nil {
		c.Suggestions = map[core.SuggestionType]map[string]Tally{}
	}
	c.Suggestions[kind] = of
	keep(of, maxHeuristics, name, Tally.sum)
}

// Ended counts the end of a subagent's frame.
func (c *Counts) Ended(agentType string, f Frame) {
	c.subagent(agentType, func(n *Frames) {
		lasted := int64(min(max(f.Duration, 0), maxDuration))
		switch {
		case f.Kept:
			n.Kept, n.KeptMs = n.Kept+1, n.KeptMs+lasted
		case f.Short:
			n.Short++
			fallthrough
		default:
			n.Empty, n.EmptyMs = n.Empty+1, n.EmptyMs+lasted
		}
	})
}

// Skipped counts a subagent that got no frame, or takes that back.
func (c *Counts) Skipped(agentType string, back bool) {
	c.subagent(agentType, func(n *Frames) {
		if n.Skipped++; back {
			n.Skipped = max(0, n.Skipped-2)
		}
	})
}

func (c *Counts) subagent(agentType string, change func(*Frames)) {
	name := nameOf(agentType)
	n := c.Subagents[name]
	change(&n)
	if c.Subagents == nil {
		c.Subagents = map[string]Frames{}
	}
	c.Subagents[name] = n
	keep(c.Subagents, maxTypes, name, Frames.sum)
}

// nameOf returns a name by which to count; empty for what cannot be one.
func nameOf(name string) string {
	if core.OneLine(name, maxName) != name {
		return ""
	}
	return name
}

// keep drops the name with the least behind it, the first of several, if there are more
// than most. The new one stays, or no other could ever come up.
func keep[N any](of map[string]N, most int, added string, sum func(N) int) {
	if len(of) <= most {
		return
	}
	least := ""
	for i, name := range slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(n string) bool { return n == added }) {
		if i == 0 || sum(of[name]) < sum(of[least]) {
			least = name
		}
	}
	delete(of, least)
}

// Decode reads Counts. It refuses those of another version, and those that cannot be.
func Decode(raw []byte) (c Counts, err error) {
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return c, fmt.Errorf("it cannot be read: %w", err)
	}
	if version.V != Version {
		return c, fmt.Errorf("it is of version %d, and this flame knows version %d", version.V, Version)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Counts{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if !c.possible() {
		return Counts{}, errors.New("it has counts that cannot be")
	}
	return c, nil
}

// maxCount is more than any project counts, and few enough to compute with.
const (
	maxCount = 1 << 40
	maxTime  = 1 << 60 // ms
)

func (c Counts) possible() bool {
	within := func(n ...int) bool { return slices.Min(n) >= 0 && slices.Max(n) <= maxCount }
	for _, of := range c.Suggestions {
		for _, t := range of {
			if !within(t.Acted, t.Done, t.Ignored, t.Undone) {
				return false
			}
		}
	}
	for _, f := range c.Subagents {
		if !within(f.Kept, f.Empty, f.Short, f.Skipped) || f.Short > f.Empty || min(f.KeptMs, f.EmptyMs) < 0 || max(f.KeptMs, f.EmptyMs) > maxTime {
			return false
		}
	}
	return true
}
