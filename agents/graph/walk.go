package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// A search follows edges one way from one node, nearest nodes first.
type search struct {
	edges [][]int // by node: those to follow
	next  func(link) int
	from  map[int]int // the nodes that were met, each with the one before it
	queue []int
}

func (g *Graph) forward(from int) *search {
	return &search{g.after, func(l link) int { return l.second }, map[int]int{from: from}, []int{from}}
}

func (g *Graph) backward(from int) *search {
	return &search{g.before, func(l link) int { return l.first }, map[int]int{from: from}, []int{from}}
}

// step goes on by one node and returns the nodes that it met there for the first
// time; it is over when nothing is left to look at.
func (s *search) step(g *Graph, follow func(link) bool) (met []int, over bool) {
	if len(s.queue) == 0 {
		return nil, true
	}
	at := s.queue[0]
	s.queue = s.queue[1:]
	for _, e := range s.edges[at] {
		there := s.next(g.edges[e])
		if _, seen := s.from[there]; seen || !follow(g.edges[e]) {
			continue
		}
		s.from[there] = at
		met = append(met, there)
	}
	s.queue = append(s.queue, met...)
	return met, false
}

func anyLink(link) bool { return true }

// reaches reports whether b is a or comes after it. It looks from both ends in
// turn and is done when either knows no more, so that a chain of n nodes, linked
// in whatever order, takes about n log n steps.
func (g *Graph) reaches(a, b int) bool {
	if a == b {
		return true
	}
	here, there := g.forward(a), g.backward(b)
	for {
		for _, s := range []*search{here, there} {
			met, over := s.step(g, anyLink)
			if over {
				return false
			}
			for _, place := range met {
				if here.met(place) && there.met(place) {
					return true
				}
			}
		}
	}
}

func (s *search) met(place int) bool { _, is := s.from[place]; return is }

// maxWay is how many nodes of a cycle an error names.
const maxWay = 8

// way names the nodes from a to b, which comes after it.
func (g *Graph) way(a, b int) string {
	s := g.forward(a)
	for over := false; !over && !s.met(b); {
		_, over = s.step(g, anyLink)
	}
	names := []string{fmt.Sprintf("%q", g.nodes[b].ID)}
	for at := b; at != a; {
		at = s.from[at]
		names = append(names, fmt.Sprintf("%q", g.nodes[at].ID))
	}
	slices.Reverse(names)
	if more := len(names) - maxWay; more > 0 {
		names = slices.Replace(names, maxWay/2, maxWay/2+more, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, " before ")
}

// order returns the places of all nodes such that each stands after all that come
// before it: by the length of the longest way to it, and then as they came.
func (g *Graph) order() []int {
	levels, waits := make([]int, len(g.nodes)), make([]int, len(g.nodes))
	var order []int
	for place, before := range g.before {
		if waits[place] = len(before); waits[place] == 0 {
			order = append(order, place)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, e := range g.after[order[i]] {
			second := g.edges[e].second
			levels[second] = max(levels[second], levels[order[i]]+1)
			if waits[second]--; waits[second] == 0 {
				order = append(order, second)
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(levels[a], levels[b]), cmp.Compare(a, b)) })
	return order
}

// Order returns the nodes such that each stands after all that come before it,
// otherwise as they came. The order of the edges plays no part.
func (g *Graph) Order() []Node { return pick(g.Nodes(), g.order()) }

func pick(nodes []Node, places []int) []Node {
	picked := make([]Node, len(places))
	for i, place := range places {
		picked[i] = nodes[place]
	}
	return picked
}

// Ancestors returns the nodes that come before one, nearest first, by edges of
// these kinds; without any, by all. Those of Spawned are what it hangs below.
func (g *Graph) Ancestors(id string, kinds ...EdgeKind) []Node {
	return g.around(id, g.backward, kinds)
}

// Descendants returns the nodes that come after one, nearest first, by edges of
// these kinds; without any, by all. Those of Spawned are the tree below it.
func (g *Graph) Descendants(id string, kinds ...EdgeKind) []Node {
	return g.around(id, g.forward, kinds)
}

func (g *Graph) around(id string, begin func(int) *search, kinds []EdgeKind) []Node {
	place, ok := g.places[id]
	if !ok {
		return nil
	}
	var found []int
	for s := begin(place); ; {
		met, over := s.step(g, func(l link) bool { return len(kinds) == 0 || slices.Contains(kinds, l.Kind) })
		if over {
			return pick(g.Nodes(), found)
		}
		found = append(found, met...)
	}
}

// Totals returns for each node, by id, what it and all that was started below it
// took.
func (g *Graph) Totals() map[string]core.Usage {
	sums := make([]core.Usage, len(g.nodes))
	totals := make(map[string]core.Usage, len(g.nodes))
	for _, place := range slices.Backward(g.order()) {
		n := g.nodes[place]
		sums[place] = sums[place].Add(n.Usage)
		totals[n.ID] = sums[place]
		if above, is := g.parent(place); is {
			sums[above] = sums[above].Add(sums[place])
		}
	}
	return totals
}

// CriticalPath returns the chain of nodes, each right before the next, that took
// longest, and how long. Of a node that still ran when the next began, the time
// until then counts; one that has not ended counts until the one after it began.
func (g *Graph) CriticalPath() (path []Node, took time.Duration) {
	began, best := make([]core.Millis, len(g.nodes)), make([]int, len(g.nodes)) // what the best chain to a node took before it began
	last, longest := -1, core.Millis(-1)
	for _, place := range g.order() {
		best[place] = -1
		for _, e := range g.before[place] {
			first := g.edges[e].first
			if sum := began[first] + g.nodes[first].until(g.nodes[place].Started); best[place] < 0 || sum > began[place] {
				began[place], best[place] = sum, first
			}
		}
		if sum := began[place] + g.nodes[place].until(g.nodes[place].Ended); sum > longest {
			last, longest = place, sum
		}
	}
	for nodes := g.Nodes(); last >= 0; last = best[last] {
		path = append(path, nodes[last])
	}
	slices.Reverse(path)
	return path, time.Duration(max(longest, 0)) * time.Millisecond
}

// until is how long a node ran before a time, or before its end where that is
// earlier or the time is not known.
func (n Node) until(t core.Millis) core.Millis {
	if n.Ended != 0 && (t == 0 || t > n.Ended) {
		t = n.Ended
	}
	if n.Started == 0 {
		return 0
	}
	return max(0, t-n.Started)
}
