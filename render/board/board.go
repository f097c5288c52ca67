// Package board is the live view of a project: its frames with their own usage and the total with
// all frames below them, the running agents and sessions, and the conflicts that wait for a
// person. The page, the terminal view and reports show the same board. It asks the store for
// changes, so it shows those of all processes. It has no rules.
package board

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
	"flame/project"
)

// A Board holds the state of a project at its last reading. Its methods may be called by several
// goroutines at once.
type Board struct {
	store project.Store
	now   func() core.Millis

	reads sync.Mutex // held while reading the store; only its holder writes the fields below

	mu       sync.Mutex
	version  int64 // raised with each change of the fields below
	frames   summed
	agents   map[string]entry[Agent]
	sessions map[string]core.Session // of frames and agents, ended ones too
	open     entry[[]Session]
	waiting  entry[[]Conflict]
	told     entry[[]Notice]
	gaps     entry[[]core.Stretch]
	working  map[string]string         // agents by their frame
	idle     map[string][]core.Stretch // by session

	gapsDue   bool        // gaps may have changed since the last search
	gapsFound core.Millis // time of the last search
	timed     core.Millis // when takeTimes ran last

	seen seen
}

// An entry is a value with the version of the board in which it changed last.
type entry[T any] struct {
	value T
	at    int64
}

// A seen is how far the board has read the store.
type seen struct {
	begun    bool
	revision int64
	last     mark        // of the last event
	inDoubt  bool        // whether frames were deleted
	counted  core.Millis // when the board last checked that
	asked    string      // the native subagent with which the next reading begins
}

// A mark tells an event from an event with the same number in another copy of the store.
type mark struct {
	seq   int64
	at    core.Millis
	event string
}

func markOf(e core.Event) mark { return mark{e.Seq, e.TS, e.Event} }

// New returns a board of a project, before its first reading.
func New(store project.Store, now func() core.Millis) *Board {
	b := &Board{store: store, now: now}
	b.forget()
	return b
}

// forget empties the board. The next reading reads everything.
func (b *Board) forget() {
	b.frames, b.seen = summed{}, seen{}
	b.agents, b.sessions = map[string]entry[Agent]{}, map[string]core.Session{}
	b.working, b.idle = map[string]string{}, map[string][]core.Stretch{}
	b.open, b.waiting, b.told, b.gaps = entry[[]Session]{}, entry[[]Conflict]{}, entry[[]Notice]{}, entry[[]core.Stretch]{}
}

// set replaces the value if it is different.
func (e *entry[T]) set(value T, version int64) (changed bool) {
	if e.at != 0 && reflect.DeepEqual(e.value, value) {
		return false
	}
	*e = entry[T]{value, version}
	return true
}

// since returns the value if it changed after a version, else nil.
func (e entry[T]) since(version int64) *T {
	if e.at <= version && version > 0 {
		return nil
	}
	return &e.value
}

// A Change is the difference between a version of a board and the newest one.
type Change struct {
	Version   int64           `json:"version"`
	Whole     bool            `json:"whole,omitempty"` // it is the whole board
	Now       core.Millis     `json:"now"`             // time of the project's clock
	Gone      []string        `json:"gone,omitempty"`  // ids of deleted frames; remaining frames below them are now at the top
	Frames    []Row           `json:"frames,omitempty"`
	Agents    []Agent         `json:"agents,omitempty"`
	Sessions  *[]Session      `json:"sessions,omitempty"`  // all open ones; nil: as before
	Conflicts *[]Conflict     `json:"conflicts,omitempty"` // all that wait for a person; nil: as before
	Notices   *[]Notice       `json:"notices,omitempty"`   // the last ones; nil: as before
	Gaps      *[]core.Stretch `json:"gaps,omitempty"`      // without work; nil: as before
}

// Since returns the changes after a version of the board. It returns the whole board for 0 and for
// a version that is too old.
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

// Only returns the part of the change about the wanted frames and the agents in them. It leaves out
// sessions, which belong to the whole project.
func (c Change) Only(wanted func(frame string) bool) Change {
	c.Frames = lo.Filter(c.Frames, func(r Row, _ int) bool { return wanted(r.ID) })
	c.Agents = lo.Filter(c.Agents, func(a Agent, _ int) bool { return wanted(a.Frame) })
	in := lo.SliceToMap(c.Agents, func(a Agent) (string, bool) { return a.ID, true })
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
