package board

import (
	"cmp"
	"slices"

	"flame/core"
)

// A Row is one frame as lists and pictures show it.
type Row struct {
	ID       string      `json:"id"`
	Parent   string      `json:"parent,omitempty"`
	Goal     string      `json:"goal"` // in one line, cut
	Status   core.Status `json:"status"`
	Machine  string      `json:"machine,omitempty"` // id of the machine that it belongs to, if that is another than this one
	Session  string      `json:"session,omitempty"` // that works, or last worked, in it
	Host     string      `json:"host,omitempty"`    // that it runs in
	Agent    string      `json:"agent,omitempty"`   // type of the agent or subagent that the frame was made for
	AgentID  string      `json:"agentID,omitempty"` // of that agent, or subagent's session
	Created  core.Millis `json:"created"`
	From     core.Millis `json:"from,omitempty"`  // when work in it began; 0 while planned
	Until    core.Millis `json:"until,omitempty"` // when that ended; 0 while it goes on
	Updated  core.Millis `json:"updated"`
	Archived bool        `json:"archived,omitempty"`
	Self     core.Usage  `json:"self,omitzero"`  // of the work in it
	Total    core.Usage  `json:"total,omitzero"` // with all below it
}

// maxGoal bounds the goal of a row, in characters.
const maxGoal = 200

// rowOf returns the row of a frame that nothing is below.
func rowOf(f core.Frame) Row {
	r := Row{
		ID: f.ID, Parent: f.Parent, Goal: core.OneLine(f.Goal, maxGoal), Status: f.Status, Machine: f.Machine, Session: f.Session,
		Created: f.CreatedAt, Updated: f.UpdatedAt, Archived: f.ArchivedAt != 0, Self: f.Usage, Total: f.Usage,
	}
	// What was imported may not say when it was begun; what was only planned, when it was
	// invalidated, never was.
	if f.Status != core.Planned && (f.Status != core.Invalidated || f.StartedAt != 0 || f.Session != "") {
		r.From = cmp.Or(f.StartedAt, f.CreatedAt)
	}
	if f.Status != core.Planned && f.Status != core.InProgress && r.From != 0 {
		r.Until = max(cmp.Or(f.EndedAt, f.UpdatedAt), r.From)
	}
	return r
}

// A forest is the frames with their totals.
type forest struct {
	begun  int64 // version of the board that it began with, or from which on it knows what went
	made   int   // how many frames it got in all
	nodes  map[string]*node
	below  map[string][]*node // by id of the frame above, which may be missing
	newest *node              // that changed last; each leads to the one before it
	gone   []tombstone        // in the order in which they went
}

type node struct {
	row          Row
	seq          int   // by which frames of the same time are in the order in which they were made
	at           int64 // version of the board in which the row changed last
	top          bool  // its parent is missing or below it
	older, newer *node // by that version
}

// A tombstone is a frame that was deleted.
type tombstone struct {
	id string
	at int64 // version of the board in which it went
}

// maxGone bounds the tombstones: whoever was told before the oldest is told everything.
const maxGone = 10_000

func newForest() forest {
	return forest{nodes: map[string]*node{}, below: map[string][]*node{}}
}

// A dirty set holds the nodes whose totals are to be added up.
type dirty map[*node]bool

// put adds rows or replaces them, removes frames that are gone, and adds up the totals
// that this changes.
func (f *forest) put(rows []Row, gone []string, version int64) {
	dirty := dirty{}
	for _, id := range gone {
		f.remove(id, version, dirty)
	}
	for _, row := range rows {
		n := f.set(row, version, dirty)
		dirty[n] = true
		if up := f.nodes[row.Parent]; n.top && up != nil { // it closes a cycle, whose frames are all at the top
			for ; up != n; up = f.nodes[up.row.Parent] {
				up.top, dirty[up] = true, true
			}
		}
	}
	for n := range dirty {
		for up := f.above(n); up != nil && !dirty[up]; up = f.above(up) {
			dirty[up] = true
		}
	}
	f.total(dirty, version)
}

// set puts one row into its place; its total is yet to be added up.
func (f *forest) set(row Row, version int64, dirty dirty) *node {
	n, known := f.nodes[row.ID]
	moves := known && n.row.Parent != row.Parent
	if !known {
		n = &node{seq: f.made}
		f.made++
		f.nodes[row.ID] = n
	}
	if moves {
		f.take(n, dirty)
	}
	if !known || moves {
		f.below[row.Parent] = append(f.below[row.Parent], n)
	}
	row.Total = n.row.Total
	n.row = row
	f.touch(n, version)
	n.top = f.isTop(n)
	for _, child := range f.below[row.ID] {
		f.place(child, dirty)
	}
	return n
}

// take takes a node from below its parent, whose total changes. If the two were in a
// cycle, its other frames have places again.
func (f *forest) take(n *node, dirty dirty) {
	above := n.row.Parent
	f.below[above] = slices.DeleteFunc(f.below[above], func(other *node) bool { return other == n })
	if len(f.below[above]) == 0 {
		delete(f.below, above)
	}
	up := f.nodes[above]
	if up == nil {
		return
	}
	dirty[up] = true
	if !n.top {
		return
	}
	var cycle []*node
	for ; up != nil && up != n; up = f.nodes[up.row.Parent] {
		cycle = append(cycle, up)
	}
	n.row.Parent = ""
	for _, other := range cycle {
		f.place(other, dirty)
	}
}

// place notes anew whether a node is at the top.
func (f *forest) place(n *node, dirty dirty) {
	if top := f.isTop(n); top != n.top {
		n.top, dirty[n] = top, true
	}
}

// remove removes a frame, if it is known.
func (f *forest) remove(id string, version int64, dirty dirty) {
	n := f.nodes[id]
	if n == nil {
		return
	}
	f.take(n, dirty)
	delete(f.nodes, id)
	delete(dirty, n)
	f.unlink(n)
	for _, child := range f.below[id] {
		f.place(child, dirty)
	}
	f.gone = append(f.gone, tombstone{id, version})
	if extra := len(f.gone) - maxGone; extra > 0 {
		f.begun = f.gone[extra-1].at
		f.gone = slices.Delete(f.gone, 0, extra)
	}
}

// touch makes a node the one that changed last.
func (f *forest) touch(n *node, version int64) {
	n.at = version
	if f.newest == n {
		return
	}
	f.unlink(n)
	if n.older = f.newest; n.older != nil {
		n.older.newer = n
	}
	f.newest = n
}

// unlink takes a node out of the order of changes.
func (f *forest) unlink(n *node) {
	if f.newest == n {
		f.newest = n.older
	}
	if n.older != nil {
		n.older.newer = n.newer
	}
	if n.newer != nil {
		n.newer.older = n.older
	}
	n.older, n.newer = nil, nil
}

// isTop reports whether nothing that is not below it is above n.
func (f *forest) isTop(n *node) bool {
	up := f.nodes[n.row.Parent]
	if up == nil || len(f.below[n.row.ID]) == 0 {
		return up == nil
	}
	for slow := up; up != nil && up != n; {
		if up = f.nodes[up.row.Parent]; up == nil || up == n {
			break
		}
		if up = f.nodes[up.row.Parent]; up == nil || up == n {
			break
		}
		if slow = f.nodes[slow.row.Parent]; slow == up {
			return false // a cycle further up, of others
		}
	}
	return up == n
}

// above returns what is above n; nil at the top.
func (f *forest) above(n *node) *node {
	if n.top {
		return nil
	}
	return f.nodes[n.row.Parent]
}

// total adds up the totals of nodes, the lowest first.
func (f *forest) total(dirty dirty, version int64) {
	order := make([]*node, 0, len(dirty))
	depths := make(map[*node]int, len(dirty))
	for n := range dirty {
		order = append(order, n)
		f.measure(n, depths)
	}
	slices.SortFunc(order, func(x, y *node) int {
		return cmp.Or(cmp.Compare(depths[y], depths[x]), cmp.Compare(x.row.ID, y.row.ID))
	})
	for _, n := range order {
		sum := n.row.Self
		for _, child := range f.below[n.row.ID] {
			if !child.top {
				sum = sum.Add(child.row.Total)
			}
		}
		if sum != n.row.Total {
			n.row.Total = sum
			f.touch(n, version)
		}
	}
}

// measure notes how many frames are above n, and above each of those.
func (f *forest) measure(n *node, depths map[*node]int) {
	var way []*node
	depth := -1
	for up := n; up != nil; up = f.above(up) {
		if known, measured := depths[up]; measured {
			depth = known
			break
		}
		way = append(way, up)
	}
	for _, up := range slices.Backward(way) {
		depth++
		depths[up] = depth
	}
}

// since returns the rows that changed after a version, in the order in which the frames
// were made.
func (f *forest) since(version int64) (rows []Row) {
	var changed []*node
	for n := f.newest; n != nil && n.at > version; n = n.older {
		changed = append(changed, n)
	}
	slices.SortFunc(changed, func(x, y *node) int {
		return cmp.Or(cmp.Compare(x.row.Created, y.row.Created), cmp.Compare(x.seq, y.seq))
	})
	for _, n := range changed {
		rows = append(rows, n.row)
	}
	return rows
}

// goneSince returns the ids of the frames that went after a version and are not back.
func (f *forest) goneSince(version int64) (ids []string) {
	for _, t := range slices.Backward(f.gone) {
		if t.at <= version {
			break
		}
		if f.nodes[t.id] == nil {
			ids = append(ids, t.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
