package top

import (
	"cmp"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/render/board"
)

// A model holds the state of a project, as the board reports it.
type model struct {
	read      bool // the board has been read
	frames    board.Forest
	agents    map[string]board.Agent
	sessions  []board.Session
	conflicts []board.Conflict
	notices   []board.Notice
	counts    map[core.Status]int // of frames that are not archived
	used      core.Usage          // in all
}

func newModel() model {
	return model{agents: map[string]board.Agent{}, counts: map[core.Status]int{}}
}

// take applies a change of the board.
func (m *model) take(c board.Change) {
	if c.Whole {
		*m = newModel()
	}
	m.read = true
	moved := m.frames.Put(c.Frames, c.Gone)
	for _, a := range c.Agents {
		m.agents[a.ID] = a
	}
	replace(&m.sessions, c.Sessions)
	replace(&m.conflicts, c.Conflicts)
	replace(&m.notices, c.Notices)
	if moved || len(c.Frames) > 0 {
		m.count()
	}
}

// replace replaces a list if there is a newer one.
func replace[T any](list, newer *[]T) {
	if newer != nil {
		*list = *newer
	}
}

func (m *model) count() {
	m.counts, m.used = map[core.Status]int{}, core.Usage{}
	for _, f := range m.frames.All() {
		if !f.Archived {
			m.counts[f.Status]++
		}
	}
	for _, f := range m.frames.Tops() {
		m.used = m.used.Add(f.Total)
	}
}

// atWork returns the agents that have not ended: running agents, then suspended ones, each in
// the order in which they began.
func (m *model) atWork() []board.Agent {
	list := slices.DeleteFunc(slices.Collect(maps.Values(m.agents)), func(a board.Agent) bool { return a.State.Ended() })
	waits := map[core.AgentState]int{core.AgentSuspended: 1}
	slices.SortFunc(list, func(x, y board.Agent) int {
		return cmp.Or(cmp.Compare(waits[x.State], waits[y.State]), cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.ID, y.ID))
	})
	return list
}

// idle returns the sessions that wait for a person.
func (m *model) idle() []board.Session {
	return lo.Filter(m.sessions, func(s board.Session, _ int) bool { return s.State == core.SessionIdle })
}

// agentOf returns the agent that works in a frame.
func (m *model) agentOf(f *board.Node) (working board.Agent, ok bool) {
	for _, a := range m.agents {
		if a.Frame == f.ID && !a.State.Ended() && (!ok || a.Asked > working.Asked) {
			working, ok = a, true
		}
	}
	return working, ok
}

// An order sorts frames with the same parent.
type order struct {
	name string
	less func(x, y *board.Node) int // nil: as they were made, of roots the newest first
}

// orders are the orders through which a key cycles.
var orders = []order{
	{name: "time"},
	{"cost", func(x, y *board.Node) int { return cmp.Compare(y.Total.CostUSD, x.Total.CostUSD) }},
	{"tokens", func(x, y *board.Node) int { return cmp.Compare(y.Total.Tokens(), x.Total.Tokens()) }},
}

// A listing holds the frames that are shown, and the chosen one.
type listing struct {
	of *model

	order   int // of orders
	folded  map[string]bool
	filter  func(f *board.Node) bool // nil: a person wants all frames
	entries []*board.Node
	at      int    // the chosen entry
	chosen  string // the frame that a person chose; empty: none yet
	first   int    // the entry at the top of the screen
}

// list lists the frames that are shown.
func (l *listing) list() {
	wanted := l.wanted()
	l.entries = l.walk(l.entries[:0], func(f *board.Node) (itself, below bool) {
		if wanted != nil {
			return wanted[f], true
		}
		return f.Up != nil || !f.Archived, !l.folded[f.ID]
	})
	l.find()
}

// walk appends frames in the order of the screen. wants reports whether the screen shows a frame,
// and whether it may show those below it. It does not recurse, as chains may be very deep.
func (l *listing) walk(list []*board.Node, wants func(f *board.Node) (itself, below bool)) []*board.Node {
	roots := l.sorted(l.of.frames.Tops())
	if orders[l.order].less == nil {
		roots = slices.Clone(roots)
		slices.Reverse(roots)
	}
	var stack []*board.Node
	push := func(frames []*board.Node) {
		for _, f := range slices.Backward(frames) {
			stack = append(stack, f)
		}
	}
	push(roots)
	for len(stack) > 0 {
		f := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		itself, below := wants(f)
		if !itself {
			continue
		}
		if list = append(list, f); below {
			push(l.sorted(f.Below))
		}
	}
	return list
}

// sorted returns frames with the same parent in the order that was chosen.
func (l *listing) sorted(frames []*board.Node) []*board.Node {
	less := orders[l.order].less
	if less == nil || len(frames) < 2 {
		return frames
	}
	frames = slices.Clone(frames)
	slices.SortStableFunc(frames, less)
	return frames
}

// wanted returns the frames that match the filter and all frames above them; nil without a filter.
func (l *listing) wanted() map[*board.Node]bool {
	if l.filter == nil {
		return nil
	}
	wanted := map[*board.Node]bool{}
	for _, f := range l.of.frames.All() {
		if !l.filter(f) {
			continue
		}
		for ; f != nil && !wanted[f]; f = f.Up {
			wanted[f] = true
		}
	}
	return wanted
}

// find finds the chosen frame in the list: the frame itself, else the nearest frame above it, else
// the frame that is now in its place. It chooses the first frame until a person has chosen one.
func (l *listing) find() {
	if l.at = min(l.at, len(l.entries)-1); l.at < 0 || l.chosen == "" {
		l.at = 0
		return
	}
	above := map[*board.Node]bool{}
	for f := l.of.frames.Find(l.chosen); f != nil; f = f.Up {
		above[f] = true
	}
	for i, f := range l.entries {
		if above[f] {
			l.at = i // frames above come before
		}
	}
}

// current returns the chosen frame; nil if there is none.
func (l *listing) current() *board.Node {
	if l.at >= len(l.entries) {
		return nil
	}
	return l.entries[l.at]
}

// choose chooses the frame at a place in the list.
func (l *listing) choose(at int) {
	l.at = max(0, min(at, len(l.entries)-1))
	if f := l.current(); f != nil {
		l.chosen = f.ID
	}
}

// reveal chooses a frame, and unfolds the frames above it.
func (l *listing) reveal(f *board.Node) {
	for up := f.Up; up != nil; up = up.Up {
		delete(l.folded, up.ID)
	}
	l.chosen = f.ID
	l.list()
}

// nextAtWork returns the next frame in progress after the chosen one that has no frame in progress
// directly below it; nil without one.
func (l *listing) nextAtWork() *board.Node {
	var first *board.Node
	passed, works := false, func(f *board.Node) bool { return f.Status == core.InProgress }
	for _, f := range l.walk(nil, func(f *board.Node) (itself, below bool) { return !f.Archived, true }) {
		if works(f) && !slices.ContainsFunc(f.Below, works) {
			if passed {
				return f
			}
			first = cmp.Or(first, f)
		}
		passed = passed || f == l.current()
	}
	return first
}

// change lists the frames again after a person has changed the listing. The same frame stays chosen.
func (l *listing) change() {
	l.choose(l.at)
	l.list()
}

// reorder selects the next order.
func (l *listing) reorder() {
	l.order = (l.order + 1) % len(orders)
	l.change()
}

// only shows the frames that match a filter, with those above them; all frames for nil.
func (l *listing) only(filter func(f *board.Node) bool) {
	l.filter = filter
	l.change()
}

// toggle folds the chosen frame, or unfolds it.
func (l *listing) toggle() {
	if f := l.current(); f != nil && len(f.Below) > 0 {
		l.folded[f.ID] = !l.folded[f.ID]
		l.change()
	}
}

func (l *listing) right() {
	f := l.current()
	switch {
	case f == nil || len(f.Below) == 0:
	case l.folded[f.ID]:
		l.toggle()
	default:
		l.choose(l.at + 1)
	}
}

func (l *listing) left() {
	f := l.current()
	switch {
	case f == nil:
	case len(f.Below) > 0 && !l.folded[f.ID] && l.filter == nil:
		l.toggle()
	case f.Up != nil:
		l.chosen = f.Up.ID
		l.find()
	}
}
