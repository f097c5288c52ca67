// Package board is the live view of a project: its frames with what they and those below
// them used, the agents and sessions at work, and what waits for a person. The page, the
// terminal view and reports show the same board. It asks the store what has changed, so
// whatever process changed it, and holds no rule.
package board

import (
	"context"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
	"flame/project"
)

// A Change is what is different on a board since a version of it.
type Change struct {
	Version   int64           `json:"version"`
	Whole     bool            `json:"whole,omitempty"` // it is everything, not what changed
	Now       core.Millis     `json:"now"`             // of the clock that all times are of
	Gone      []string        `json:"gone,omitempty"`  // ids of frames that were deleted; those below them are at the top, unless they went too
	Frames    []Row           `json:"frames,omitempty"`
	Agents    []Agent         `json:"agents,omitempty"`
	Sessions  *[]Session      `json:"sessions,omitempty"`  // all that have not ended; nil: as before
	Conflicts *[]Conflict     `json:"conflicts,omitempty"` // all that wait for a person; nil: as before
	Notices   *[]Notice       `json:"notices,omitempty"`   // the last ones; nil: as before
	Gaps      *[]core.Stretch `json:"gaps,omitempty"`      // in which nobody worked; nil: as before
}

// Since returns what changed after a version of the board; everything for 0, and for a
// version that is older than what the board has forgotten.
func (b *Board) Since(version int64) Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Change{Version: b.version, Now: b.now()}
	if version < b.frames.begun || version == 0 {
		version, c.Whole = 0, true
	}
	if c.Frames = b.frames.since(version); !c.Whole {
		c.Gone = b.frames.goneSince(version)
	}
	for _, id := range slices.Sorted(maps.Keys(b.agents)) {
		if a := b.agents[id]; a.at > version {
			c.Agents = append(c.Agents, a.value)
		}
	}
	c.Sessions, c.Conflicts = b.open.since(version), b.waiting.since(version)
	c.Notices, c.Gaps = b.told.since(version), b.gaps.since(version)
	return c
}

// Only returns what of the change is of the wanted frames and the agents in them. Sessions
// are left out: they are of the whole project.
func (c Change) Only(wanted func(frame string) bool) Change {
	c.Frames = lo.Filter(c.Frames, func(r Row, _ int) bool { return wanted(r.ID) })
	c.Agents = lo.Filter(c.Agents, func(a Agent, _ int) bool { return wanted(a.Frame) })
	in := map[string]bool{}
	for _, a := range c.Agents {
		in[a.ID] = true
	}
	c.Sessions = nil
	if c.Conflicts != nil {
		c.Conflicts = new(lo.Filter(*c.Conflicts, func(conflict Conflict, _ int) bool {
			return lo.EveryBy(conflict.Sides, func(side converge.Side) bool { return in[side.SubagentID] })
		}))
	}
	if c.Notices != nil {
		c.Notices = new(lo.Filter(*c.Notices, func(n Notice, _ int) bool { return n.Frame != "" && wanted(n.Frame) }))
	}
	return c
}

// Version returns the number of the board's newest state.
func (b *Board) Version() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// Read reads what the project's processes have changed since the last call. It reports
// whether anything did. After an error the board is as it was.
func (b *Board) Read(ctx context.Context) (changed bool, err error) {
	b.reads.Lock()
	defer b.reads.Unlock()
	var r reading
	if err := b.store.View(ctx, func(tx project.Tx) error {
		r = reading{seen: b.seen, board: b}
		return r.read(tx)
	}); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.begins {
		b.forget()
	}
	before := b.version
	b.take(r)
	return b.version > before || r.begins, nil
}
