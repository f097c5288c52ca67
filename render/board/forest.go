package board

import (
	"cmp"
	"slices"

	"flame/core"
)

// A Row is one frame in lists and pictures.
type Row struct {
	ID       string      `json:"id"`
	Parent   string      `json:"parent,omitempty"`
	Goal     string      `json:"goal"` // in one line, cut
	Status   core.Status `json:"status"`
	Machine  string      `json:"machine,omitempty"` // id of the machine that owns it, if it is another one
	Session  string      `json:"session,omitempty"` // that works, or worked last, in it
	Host     string      `json:"host,omitempty"`    // that it runs in
	Agent    string      `json:"agent,omitempty"`   // type of the agent or subagent that the frame was made for
	AgentID  string      `json:"agentID,omitempty"` // of that agent, or subagent's session
	Created  core.Millis `json:"created"`
	From     core.Millis `json:"from,omitempty"`  // when work in it began; 0 while planned
	Until    core.Millis `json:"until,omitempty"` // when work in it ended; 0 before that
	Still    core.Millis `json:"still,omitempty"` // since when no work goes on in it or below it, although it is open; 0: some does
	Idle     core.Millis `json:"idle,omitempty"`  // ms from From on in which its session did not work
	Updated  core.Millis `json:"updated"`
	Archived bool        `json:"archived,omitempty"`
	Turn     bool        `json:"turn,omitempty"`  // it is that of a turn of the user's
	Short    bool        `json:"short,omitempty"` // a turn that left no file and no check
	Self     core.Usage  `json:"self,omitzero"`   // of the work in it
	Total    core.Usage  `json:"total,omitzero"`  // with all below it
}

// maxGoal bounds the goal of a row, in characters.
const maxGoal = 200

// rowOf returns the row of a frame, without its total.
func rowOf(f core.Frame) Row {
	r := Row{
		ID: f.ID, Parent: f.Parent, Goal: core.OneLine(f.Goal, maxGoal), Status: f.Status, Machine: f.Machine, Session: f.Session,
		Created: f.CreatedAt, Updated: f.UpdatedAt, Archived: f.ArchivedAt != 0, Self: f.Usage,
	}
	// An imported frame may lack its start. Frames that were invalidated while planned never
	// began.
	if f.Status != core.Planned && (f.Status != core.Invalidated || f.StartedAt != 0 || f.Session != "") {
		r.From = cmp.Or(f.StartedAt, f.CreatedAt)
	}
	if f.Status != core.Planned && f.Status != core.InProgress && r.From != 0 {
		r.Until = max(cmp.Or(f.EndedAt, f.UpdatedAt), r.From)
	}
	return r
}

// A Forest holds frames as trees. Its zero value is empty.
type Forest struct {
	byID   map[string]*Node
	all    []*Node   // in the order in which they were made
	levels [][]*Node // by depth
}

// A Node is a frame in its tree.
type Node struct {
	Row
	Up    *Node // the frame above; nil at the top
	Below []*Node
	Depth int
}

// Roots returns the nodes at the top, in the order in which they were added: frames without a
// parent, frames whose parent is missing, and all members of a cycle.
func (f *Forest) Roots() []*Node {
	if len(f.levels) == 0 {
		return nil
	}
	return f.levels[0]
}

// Trees returns rows as trees.
func Trees(rows []Row) (tops []*Node) {
	var f Forest
	f.Put(rows, nil)
	return f.Roots()
}

// Put adds rows or replaces them, and removes deleted frames. It reports whether the form of
// the trees changed.
func (f *Forest) Put(rows []Row, gone []string) (moved bool) {
	if f.byID == nil {
		f.byID = map[string]*Node{}
	}
	moved = len(gone) > 0
	for _, row := range rows {
		n := f.byID[row.ID]
		if n == nil {
			n = &Node{}
			f.byID[row.ID], f.all, moved = n, append(f.all, n), true
		}
		moved = moved || n.Parent != row.Parent
		n.Row = row
	}
	if len(gone) > 0 {
		for _, id := range gone {
			delete(f.byID, id)
		}
		f.all = slices.DeleteFunc(f.all, func(n *Node) bool { return f.byID[n.ID] != n })
	}
	if moved {
		f.link()
	}
	return moved
}

// manyRows is the number of changed rows above which sum adds up all totals, instead of those above each row.
const manyRows = 100

// sum is Put that also adds up the totals.
func (f *Forest) sum(rows []Row, gone []string) {
	if f.Put(rows, gone) || len(rows) > manyRows {
		for _, level := range slices.Backward(f.levels) {
			for _, n := range level {
				n.addUp()
			}
		}
		return
	}
	for _, row := range rows {
		for n := f.byID[row.ID]; n != nil; n = n.Up {
			n.addUp()
		}
	}
}

// Depths of nodes that have none yet.
const (
	unknown  = -1
	onTheWay = -2
)

// link finds the frame above each one. Frames whose parent is missing and all members of a
// cycle are at the top.
func (f *Forest) link() {
	for _, n := range f.all {
		n.Up, n.Below, n.Depth = f.byID[n.Parent], nil, unknown
	}
	var way []*Node
	for _, n := range f.all {
		way = way[:0]
		for ; n != nil && n.Depth == unknown; n = n.Up {
			n.Depth = onTheWay
			way = append(way, n)
		}
		if n != nil && n.Depth == onTheWay {
			first := slices.Index(way, n)
			for _, member := range way[first:] {
				member.Up, member.Depth = nil, 0
			}
			way = way[:first]
		}
		for _, below := range slices.Backward(way) {
			if below.Depth = 0; below.Up != nil {
				below.Depth = below.Up.Depth + 1
			}
		}
	}
	f.levels = nil
	for _, n := range f.all {
		for len(f.levels) <= n.Depth {
			f.levels = append(f.levels, nil)
		}
		f.levels[n.Depth] = append(f.levels[n.Depth], n)
		if n.Up != nil {
			n.Up.Below = append(n.Up.Below, n)
		}
	}
}

// addUp adds up the total of a frame from those below it.
func (n *Node) addUp() {
	n.Total = n.Self
	for _, child := range n.Below {
		n.Total = n.Total.Add(child.Total)
	}
}
