package trail

import "slices"

// Trail returns what is known so far. Agents whose parent no log has named yet
// are roots until one does.
func (t *Tracker) Trail() Trail {
	trail := Trail{Torn: slices.Clone(t.torn), Unread: slices.Clone(t.unread), Messages: t.messages, Aside: t.aside, Unknown: t.unknown}
	above, children := t.parents()
	for _, s := range t.order {
		if s.isNode() && above[s] == nil {
			trail.Nodes = appendTree(trail.Nodes, s, children)
		}
	}
	t.priceTrees(trail.Nodes)
	return trail
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
	for _, s := range t.order {
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
// included, the part that none of those account for. Agents of flame's are not
// part of what their caller's host counts. Nodes come parents first.
func (t *Tracker) priceTrees(nodes []Node) {
	below := map[string]float64{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if s, ok := t.names[idName(n.ID)]; ok {
			n.Usage.CostUSD = max(n.Usage.CostUSD, s.newest().treeCost-below[n.ID])
		}
		if n.Agent == "" {
			below[n.Parent] += n.Usage.CostUSD + below[n.ID]
		}
	}
}
