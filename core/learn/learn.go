// Package learn derives settings from a project's counts: where the thresholds of pushes and pops
// should be, and which titles of subagents deserve frames at once. It is arithmetic on the counts
// alone: no model, no network, no clock.
package learn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"flame/core"
)

// Mode says how flame uses what it learns.
type Mode string

// The modes.
const (
	Off     Mode = "off"     // flame counts nothing and applies nothing
	Suggest Mode = "suggest" // flame counts and proposes changes
	On      Mode = "on"      // flame counts and applies changes
)

// Settings say what learning may do.
type Settings struct {
	Mode   Mode // empty: Off
	Bounds int  // points, 0..100, by which a threshold may differ from the configured one
}

// Counts reports whether flame counts.
func (s Settings) Counts() bool { return s.Mode == Suggest || s.Mode == On }

// Version is the version of Counts written today.
const Version = 1

// Limits that keep Counts small. Beyond them, flame drops the name with the smallest count.
const (
	maxHeuristics = 32
	maxTypes      = 64
	maxName       = 60 // characters; a longer name counts as none
)

// Counts counts the outcomes of a project's suggestions and of its subagents' frames.
type Counts struct {
	V           int                                      `json:"v"`
	Suggestions map[core.SuggestionType]map[string]Tally `json:"suggestions,omitempty"` // by type and strongest heuristic
	Subagents   map[string]Frames                        `json:"subagents,omitempty"`   // by type; "" for subagents without a type
}

// A Tally counts suggestions by outcome.
type Tally struct {
	Acted   int `json:"acted"`   // the agent did it
	Done    int `json:"done"`    // flame did it, at level auto
	Ignored int `json:"ignored"` // shown without effect
	Undone  int `json:"undone"`  // acted on or done, and then taken back
}

func (t Tally) sum() int { return t.Acted + t.Done + t.Ignored + t.Undone }

func (t Tally) plus(u Tally) Tally {
	return Tally{t.Acted + u.Acted, t.Done + u.Done, t.Ignored + u.Ignored, t.Undone + u.Undone}
}

// at returns the count of an outcome; nil if the outcome teaches nothing.
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

// Teaches reports whether flame learns from suggestions of this outcome.
func Teaches(o core.Outcome) bool { return new(Tally).at(o) != nil }

// Frames counts the frames of subagents of one type.
type Frames struct {
	Kept    int   `json:"kept"`    // ended with a summary, decisions, artifacts or frames of their own
	Empty   int   `json:"empty"`   // ended without any of these
	Short   int   `json:"short"`   // of Empty, frames that lasted less than FLAME_SUBAGENT_MIN_DURATION
	Skipped int   `json:"skipped"` // subagents without a frame: too short, or with too few messages
	KeptMs  int64 `json:"keptMs"`  // total duration of kept frames in ms
	EmptyMs int64 `json:"emptyMs"` // total duration of empty frames in ms
}

func (f Frames) sum() int { return f.Kept + f.Empty + f.Skipped }

// A Frame is the frame of a subagent that ended.
type Frame struct {
	Kept     bool
	Short    bool
	Duration core.Millis // less than 0 if the clock was set back
}

// maxDuration limits the duration of one frame: the machine may have slept.
const maxDuration = core.Millis(24 * 60 * 60 * 1000)

// Suggestion counts a suggestion of a type and heuristic whose outcome changed from from, which is
// empty at first, to to.
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

// Skipped counts a subagent that got no frame; with back it takes that count back.
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

// nameOf returns the name under which to count; empty if the name is not usable.
func nameOf(name string) string {
	if core.OneLine(name, maxName) != name {
		return ""
	}
	return name
}

// keep drops the name with the smallest count, the first of several, if there are more than most.
// The added name stays: otherwise a new name could never get in.
func keep[N any](of map[string]N, most int, added string, sum func(N) int) {
	if len(of) <= most {
		return
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(n string) bool { return n == added })
	delete(of, slices.MinFunc(others, func(a, b string) int { return cmp.Compare(sum(of[a]), sum(of[b])) }))
}

// Decode reads Counts. It refuses another version and impossible counts.
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
		return Counts{}, errors.New("it has impossible counts")
	}
	return c, nil
}

// Limits far above the counts of any project, and low enough to compute without overflow.
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
