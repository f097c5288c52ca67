package trail

import (
	"cmp"
	"slices"
)

// Trail returns what is known so far. Agents whose parent no log has named yet
// are roots until one does.
func (t *Tracker) Trail() Trail {
	trail := Trail{Torn: slices.Clone(t.torn), Unread: slices.Clone(t.unread), Messages: t.messages, Aside: t.aside, Unknown: t.unknown}
	above, children := t.parents()
	for _, s := range t.inTime() {
		if s.isNode() && above[s] == nil {
			trail.Nodes = appendTree(trail.Nodes, s, children)
		}
	}
	t.nameParents(trail.Nodes)
	t.priceTrees(trail.Nodes)
	return trail
}

// nameParents adds what the logs call the parents that are not in them.
func (t *Tracker) nameParents(nodes []Node) {
	for i := range nodes {
		s, ok := t.names[idName(nodes[i].ID)]
		if !ok || !nodes[i].Unparented {
			continue
		}
		if _, met := t.names[idName(s.newest().parent)]; !met {
			nodes[i].Parent = s.newest().parent
		}
	}
}

// inTime returns what was sighted in the order of time. What has none stands last,
// in the order it was met.
func (t *Tracker) inTime() []*sighting {
	order := slices.Clone(t.order)
	slices.SortStableFunc(order, func(a, b *sighting) int { return cmp.Compare(uint64(a.first-1), uint64(b.first-1)) })
	return order
}

// appendTree appends the nodes of the tree below top, each before its children.
// Trees from logs may be deep, so it uses a stack instead of recursion.
func appendTree(nodes []Node, top *sighting, children map[*sighting][]*sighting) []Node {
	type place struct {
		*sighting
		parent string
		depth  int
	}
	for todo := []place{{sighting: top}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := at.node()
		n.Parent, n.Depth = at.parent, at.depth
		n.Unparented = n.Parent == "" && at.isChild()
		nodes = append(nodes, n)
		for _, child := range slices.Backward(children[at.sighting]) {
			todo = append(todo, place{child, n.ID, at.depth + 1})
		}
	}
	return nodes
}

// parents returns the parent of each node and the children of each. It leaves
// out what would close a cycle, and parents that no log knows.
func (t *Tracker) parents() (above map[*sighting]*sighting, children map[*sighting][]*sighting) {
	above, children = map[*sighting]*sighting{}, map[*sighting][]*sighting{}
	tops := map[*sighting]*sighting{} // some node further up
	for _, s := range t.inTime() {
		parent := t.parentOf(s)
		if !s.isNode() || parent == nil || topOf(tops, parent) == s {
			continue
		}
		above[s], tops[s] = parent, parent
		children[parent] = append(children[parent], s)
	}
	return above, children
}

// topOf returns the current root above s. It shortens the path for the next
// call.
func topOf(tops map[*sighting]*sighting, s *sighting) *sighting {
	top := s
	for tops[top] != nil {
		top = tops[top]
	}
	for s != top {
		s, tops[s] = tops[s], top
	}
	return top
}

// parentOf returns what started s, if known: what a log states outright takes
// precedence over who made the call.
func (t *Tracker) parentOf(s *sighting) *sighting {
	parent := s.caller
	if first, ok := t.names[callName(s.session, s.call)]; ok && s.call != "" && parent == nil {
		parent = first.newest().caller
	}
	if named, ok := t.names[idName(s.parent)]; ok && s.parent != "" {
		parent = named
	}
	if parent == nil || !parent.newest().isNode() {
		return nil
	}
	return parent.newest()
}

// priceTrees assigns to each session that knows its total cost, descendants
// included, the part that none of those account for: as cost of its own if that is
// not known or there are none, else as untold. Agents of flame's are not part of
// what their caller's host counts. Nodes come parents first.
func (t *Tracker) priceTrees(nodes []Node) {
	below := map[string]float64{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if s, ok := t.names[idName(n.ID)]; ok {
			rest := max(0, s.newest().treeCost-below[n.ID]-n.Usage.CostUSD)
			if _, parent := below[n.ID]; parent && n.Usage.CostUSD > 0 && rest > roundingUSD {
				n.UntoldUSD = rest
			} else {
				n.Usage.CostUSD += rest
			}
		}
		if n.Agent == "" {
			below[n.Parent] += n.Usage.CostUSD + n.UntoldUSD + below[n.ID]
		}
	}
}

// roundingUSD is less than the price of a token.
const roundingUSD = 1e-9
