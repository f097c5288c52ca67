package top

import (
	"cmp"
	"slices"

	"flame/board"
	"flame/core"
)

// A model is what is known of a project, as its board told it.
type model struct {
	read      bool // something was
	frames    map[string]*frame
	order     []*frame // in which they were made
	roots     []*frame
	agents    map[string]board.Agent
	sessions  []board.Session
	conflicts []board.Conflict
	notices   []board.Notice
	counts    map[core.Status]int // of frames that are not archived
	used      core.Usage          // in all
}

// A frame is one with those below it.
type frame struct {
	board.Row
	up    *frame // nil at the top
	below []*frame
}

func newModel() model {
	return model{frames: map[string]*frame{}, agents: map[string]board.Agent{}, counts: map[core.Status]int{}}
}

// take applies what changed on the board.
func (m *model) take(c board.Change) {
	if c.Whole {
		*m = newModel()
	}
	m.read = true
	moved := c.Whole || len(c.Gone) > 0
	for _, id := range c.Gone {
		delete(m.frames, id)
	}
	if len(c.Gone) > 0 {
		m.order = slices.DeleteFunc(m.order, func(f *frame) bool { return m.frames[f.ID] != f })
	}
	for _, row := range c.Frames {
		f := m.frames[row.ID]
		if f == nil {
			f = &frame{Row: board.Row{Parent: row.Parent}}
			m.frames[row.ID], m.order, moved = f, append(m.order, f), true
		}
		moved = moved || f.Parent != row.Parent
		f.Row = row
	}
	for _, a := range c.Agents {
		m.agents[a.ID] = a
	}
	replace(&m.sessions, c.Sessions)
	replace(&m.conflicts, c.Conflicts)
	replace(&m.notices, c.Notices)
	if moved {
		m.link()
	}
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

// link puts the frames below their parents. What has no parent, and one of each cycle, is
// at the top.
func (m *model) link() {
	m.roots = nil
	for _, f := range m.order {
		f.up, f.below = nil, nil
	}
	for _, f := range m.order {
		up := m.frames[f.Parent]
		if up == nil || up == f || len(f.below) > 0 && up.isBelow(f) {
			m.roots = append(m.roots, f)
			continue
		}
		f.up, up.below = up, append(up.below, f)
	}
}

// isBelow reports whether f is other, or below it as far as frames are linked.
func (f *frame) isBelow(other *frame) bool {
	for ; f != nil; f = f.up {
		if f == other {
			return true
		}
	}
	return false
}

func (m *model) count() {
	m.counts, m.used = map[core.Status]int{}, core.Usage{}
	for _, f := range m.order {
		if !f.Archived {
			m.counts[f.Status]++
		}
	}
	for _, f := range m.roots {
		m.used = m.used.Add(f.Total)
	}
}

// atWork returns the agents that have not ended: those that run, then those that wait, the
// one that began first first.
func (m *model) atWork() (list []board.Agent) {
	for _, a := range m.agents {
		if !a.State.Ended() {
			list = append(list, a)
		}
	}
	waits := map[core.AgentState]int{core.AgentSuspended: 1}
	slices.SortFunc(list, func(x, y board.Agent) int {
		return cmp.Or(cmp.Compare(waits[x.State], waits[y.State]), cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.ID, y.ID))
	})
	return list
}

// idle returns the sessions that wait for a person.
func (m *model) idle() (list []board.Session) {
	for _, s := range m.sessions {
		if s.State == core.SessionIdle {
			list = append(list, s)
		}
	}
	return list
}

// agentOf returns the agent that works in a frame.
func (m *model) agentOf(f *frame) (working board.Agent, ok bool) {
	for _, a := range m.agents {
		if a.Frame == f.ID && !a.State.Ended() && (!ok || a.Asked > working.Asked) {
			working, ok = a, true
		}
	}
	return working, ok
}
