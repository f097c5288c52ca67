package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A search follows edges in one direction from one node, nearest nodes first.
type search struct {
	edges [][]int // by node: those to follow
	next  func(link) int
	from  map[int]int // the nodes found, each with its predecessor
	queue []int
}

func (g *Graph) forward(from int) *search {
	return &search{g.after, func(l link) int { return l.second }, map[int]int{from: from}, []int{from}}
}

func (g *Graph) backward(from int) *search {
	return &search{g.before, func(l link) int { return l.first }, map[int]int{from: from}, []int{from}}
}

// step advances by one node and returns the nodes first found there; over is
// true when nothing is left to look at.
func (s *search) step(g *Graph) (met []int, over bool) {
	if len(s.queue) == 0 {
		return nil, true
	}
	at := s.queue[0]
	s.queue = s.queue[1:]
	for _, e := range s.edges[at] {
		there := s.next(g.edges[e])
		if s.met(there) {
			continue
		}
		s.from[there] = at
		met = append(met, there)
	}
	s.queue = append(s.queue, met...)
	return met, false
}

// reaches reports whether b is a or comes after it. It searches from both ends
// in turn and stops when either is exhausted, so that a chain of n nodes,
// linked in whatever order, takes about n log n steps.
func (g *Graph) reaches(a, b int) bool {
	if a == b {
		return true
	}
	here, there := g.forward(a), g.backward(b)
	for {
		for _, s := range []*search{here, there} {
			met, over := s.step(g)
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

// way names the nodes on the path from a to b, which comes after it.
func (g *Graph) way(a, b int) string {
	s := g.forward(a)
	for over := false; !over && !s.met(b); {
		_, over = s.step(g)
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

// order returns the places of all nodes in topological order: by the length of
// the longest path to each, then by addition.
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
