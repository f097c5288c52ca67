// Package board is the live view of a project: its frames with their own usage and the total with
// all frames below them, the running agents and sessions, and the conflicts that wait for a
// person. The page, the terminal view and reports show the same board. It asks the store for
// changes, so it shows those of all processes. It has no rules.
package board

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A Board holds the state of a project at its last reading. Its methods may be called by several
// goroutines at once.
type Board struct {
	store project.Store
	now   func() core.Millis
	hosts hosts.Registry

	reads sync.Mutex // held while reading the store; only its holder writes the fields below

	mu       sync.Mutex
	version  int64 // raised with each change of the fields below
	frames   Forest
	agents   map[string]Agent
	sessions map[string]core.Session // of frames and agents, ended ones too
	open     []Session
	waiting  []Conflict
	told     []Notice
	gaps     []core.Interval
	working  map[string]string          // agents by their frame
	idle     map[string][]core.Interval // by session
	decided  []Item
	said     map[string]string // summaries of frames, in one line, cut
	folded   string            // what folding left out of all requests, in words
	today    Today

	gapsDue    bool        // gaps may have changed since the last search
	gapsFound  core.Millis // time of the last search; 0: none
	timed      core.Millis // when takeTimes ran last
	todayFound core.Millis // the same of takeToday

	seen readPosition
}

// A readPosition is how far the board has read the store.
type readPosition struct {
	begun    bool
	revision int64
	last     mark        // of the last event
	inDoubt  bool        // whether frames were deleted
	counted  core.Millis // when the board last checked that
	asked    string      // the native subagent with which the next reading begins
	latest   int         // how many frames the first reading has at most, but for those that are open; 0: all
}

// A mark tells an event from an event with the same number in another copy of the store.
type mark struct {
	seq   int64
	at    core.Millis
	event string
}

func markOf(e core.Event) mark { return mark{e.Seq, e.TS, e.Event} }

// New returns a board of a project, before its first reading.
func New(store project.Store, now func() core.Millis, known hosts.Registry) *Board {
	b := &Board{store: store, now: now, hosts: known}
	b.forget()
	return b
}

// forget empties the board. The next reading reads everything.
func (b *Board) forget() {
	b.frames, b.seen, b.gapsFound = Forest{}, readPosition{}, 0
	b.decided, b.today = []Item{}, Today{}
	b.agents, b.sessions = map[string]Agent{}, map[string]core.Session{}
	b.working, b.idle = map[string]string{}, map[string][]core.Interval{}
	b.open, b.waiting, b.told, b.gaps = nil, nil, nil, nil
}

// A Snapshot is what a board shows in one of its versions.
type Snapshot struct {
	Version   int64           `json:"version"`
	Frames    []Row           `json:"frames,omitempty"`    // in the order in which they were made
	Agents    []Agent         `json:"agents,omitempty"`    // in order of id
	Sessions  []Session       `json:"sessions,omitempty"`  // the open ones
	Conflicts []Conflict      `json:"conflicts,omitempty"` // that wait for a person
	Notices   []Notice        `json:"notices,omitempty"`   // the last ones
	Gaps      []core.Interval `json:"gaps,omitempty"`      // without work
	Today     Today           `json:"today"`
}

// Snapshot returns the newest state of the board.
func (b *Board) Snapshot() Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := lo.Map(b.frames.all, func(n *Node, _ int) Row { return n.Row })
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Created, y.Created) })
	agents := lo.Map(slices.Sorted(maps.Keys(b.agents)), func(id string, _ int) Agent { return b.agents[id] })
	return Snapshot{b.version, rows, agents, b.open, b.waiting, b.told, b.gaps, b.today}
}

// Only returns the part of the snapshot about the wanted frames and the agents in them. It leaves out
// sessions, which belong to the whole project.
func (s Snapshot) Only(wanted func(frame string) bool) Snapshot {
	s.Frames = lo.Filter(s.Frames, func(r Row, _ int) bool { return wanted(r.ID) })
	s.Agents = lo.Filter(s.Agents, func(a Agent, _ int) bool { return wanted(a.Frame) })
	in := lo.SliceToMap(s.Agents, func(a Agent) (string, bool) { return a.ID, true })
	s.Sessions = nil
	s.Conflicts = lo.Filter(s.Conflicts, func(conflict Conflict, _ int) bool {
		return lo.EveryBy(conflict.Sides, func(side converge.Side) bool { return in[side.SubagentID] })
	})
	torn := lo.SliceToMap(s.Conflicts, func(c Conflict) (string, bool) { return c.Convergence, true })
	s.Today = s.Today.only(wanted, func(convergence string) bool { return torn[convergence] })
	s.Notices = lo.Filter(s.Notices, func(n Notice, _ int) bool { return n.Frame != "" && wanted(n.Frame) })
	return s
}

// Version returns the number of the board's newest state.
func (b *Board) Version() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// atWork returns the ids of wanted agents that have not ended, sorted.
func (b *Board) atWork(wanted func(a Agent) bool) (ids []string) {
	for id, a := range b.agents {
		if !a.State.Ended() && wanted(a) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
