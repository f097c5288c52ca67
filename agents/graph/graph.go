// Package graph holds the graph of agents: sessions, agents and convergences, and the edges
// between them. A graph has no cycles, and the edges from parents to the agents that they
// started form a forest. A Trail is such a forest that is read from the logs that hosts keep
// or print; it can be drawn, followed as the logs grow, and imported as finished frames.
// Package transcripts parses the logs.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Kind says what a node is.
type Kind string

// The kinds of nodes.
const (
	KindSession     Kind = "session"
	KindSubagent    Kind = "subagent"
	KindConvergence Kind = "convergence"
)

// A Node is one thing that works, or worked. Its ID is its own in the graph.
type Node struct {
	ID         string      `json:"id"`
	Kind       Kind        `json:"kind"`
	Label      string      `json:"label,omitempty"`      // its task, for people: data, whatever it contains
	Status     string      `json:"status,omitempty"`     // of a session, an agent or a convergence, as its kind has it
	AgentType  string      `json:"agentType,omitempty"`  // name of its definition
	Model      string      `json:"model,omitempty"`      // as the host calls it
	Frame      string      `json:"frame,omitempty"`      // id of its frame
	Usage      core.Usage  `json:"usage"`                // its own usage and cost, without the nodes below it
	Started    core.Millis `json:"started,omitempty"`    //
	Ended      core.Millis `json:"ended,omitempty"`      //
	Parent     string      `json:"parent,omitempty"`     // id of what started it; it need not be in the graph
	Depth      int         `json:"depth"`                // number of nodes above it; set by the graph
	Unparented bool        `json:"unparented,omitempty"` // something unknown started it; set by the graph
}

// An EdgeKind says what an edge means.
type EdgeKind string

// The kinds of edges. Whether From or To comes first in time is part of the
// meaning.
const (
	Spawned       EdgeKind = "spawned"        // From started To, and nothing else did: the edges to Node.Parent
	Handoff       EdgeKind = "handoff"        // From gave its work to To
	ConvergedInto EdgeKind = "converged_into" // the result of From went into To
	ResumedFrom   EdgeKind = "resumed_from"   // From continues where To stopped
)

// An Edge runs from one node to another.
type Edge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
}

// A Graph is a directed graph without cycles.
type Graph struct {
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"` // those of Spawned first, in the order of the started nodes
	forest forest // of the edges of Spawned
}

// New returns the graph of nodes, each below its parent, with links between them. If parents
// form a cycle, it leaves one of them out, and that node is unparented. It returns an error for
// an invalid node or link, and for a cycle of edges of any kinds in the order of time: no node
// can wait for one that begins after it.
func New(nodes []Node, links []Edge) (*Graph, error) {
	g := &Graph{Nodes: append([]Node{}, nodes...), Edges: []Edge{}}
	places := map[string]int{}
	for place, n := range nodes {
		if err := checkNode(places, n); err != nil {
			return nil, err
		}
		places[n.ID] = place
	}
	g.forest = forestOf(lo.Map(nodes, func(n Node, _ int) int {
		if parent, known := places[n.Parent]; known {
			return parent
		}
		return none
	}))
	for _, place := range g.forest.order() {
		n, above := &g.Nodes[place], g.forest.parent[place]
		n.Depth, n.Unparented = 0, above == none && (n.Parent != "" || n.Kind == KindSubagent)
		if above != none {
			n.Depth = g.Nodes[above].Depth + 1
		}
	}
	for place, above := range g.forest.parent {
		if above != none {
			g.Edges = append(g.Edges, Edge{From: nodes[above].ID, To: nodes[place].ID, Kind: Spawned})
		}
	}
	for _, link := range links {
		if err := checkLink(places, link); err != nil {
			return nil, err
		}
	}
	if twice := lo.FindDuplicates(links); len(twice) > 0 {
		return nil, core.Invalidf("%s exists twice", twice[0]).WithHint("link two nodes once in each way")
	}
	g.Edges = append(g.Edges, links...)
	return g, g.checkTime(places)
}

func checkNode(places map[string]int, n Node) error {
	_, taken := places[n.ID]
	switch {
	case strings.TrimSpace(n.ID) == "":
		return core.Invalidf("a node has no id").WithHint("give each node an id of its own")
	case taken:
		return core.Invalidf("there is already a node %q", n.ID).WithHint("give each node an id of its own")
	case n.ID == n.Parent:
		return core.Invalidf("%q cannot have started itself", n.ID).WithHint("leave its parent empty")
	case !slices.Contains([]Kind{KindSession, KindSubagent, KindConvergence}, n.Kind):
		return core.Invalidf("%q has the unknown kind %q", n.ID, n.Kind).WithHint("use session, subagent or convergence")
	}
	return nil
}

func checkLink(places map[string]int, e Edge) error {
	if !slices.Contains([]EdgeKind{Handoff, ConvergedInto, ResumedFrom}, e.Kind) {
		return core.Invalidf("there are no links of kind %q", e.Kind).WithHint("use handoff, converged_into or resumed_from")
	}
	for _, id := range []string{e.From, e.To} {
		if _, known := places[id]; !known {
			return core.NotFoundf("%s: there is no node %q", e, id).WithHint("add the node")
		}
	}
	if e.From == e.To {
		return core.Invalidf("%s: a node cannot be linked to itself", e).WithHint("link it to another node")
	}
	return nil
}

// String returns an edge as errors name it.
func (e Edge) String() string { return fmt.Sprintf("%q -> %q (%s)", e.From, e.To, e.Kind) }

// maxWay is how many nodes of a cycle an error names.
const maxWay = 8

// checkTime returns an error that names a cycle of edges in the order of time. ResumedFrom
// points back in time.
func (g *Graph) checkTime(places map[string]int) error {
	before, after := make([][]int, len(g.Nodes)), make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		first, second := places[e.From], places[e.To]
		if e.Kind == ResumedFrom {
			first, second = second, first
		}
		before[second], after[first] = append(before[second], first), append(after[first], second)
	}
	waits := lo.Map(before, func(list []int, _ int) int { return len(list) })
	free := lo.Filter(lo.Range(len(waits)), func(place, _ int) bool { return waits[place] == 0 })
	for i := 0; i < len(free); i++ { // it grows during the loop
		for _, place := range after[free[i]] {
			if waits[place]--; waits[place] == 0 {
				free = append(free, place)
			}
		}
	}
	if len(free) == len(waits) {
		return nil
	}
	stuck := func(place int) bool { return waits[place] > 0 }
	way := []int{slices.IndexFunc(lo.Range(len(waits)), stuck)}
	for { // a waiting node has a waiting predecessor, so the way back reaches some node again
		previous, _ := lo.Find(before[way[len(way)-1]], stuck)
		begin := slices.Index(way, previous)
		way = append(way, previous)
		if begin >= 0 {
			return cycle(lo.Map(way[begin:], func(place, _ int) string { return fmt.Sprintf("%q", g.Nodes[place].ID) }))
		}
	}
}

// cycle returns the error for a cycle of nodes, the last first.
func cycle(names []string) error {
	slices.Reverse(names)
	if more := len(names) - maxWay; more > 0 {
		names = slices.Replace(names, maxWay/2, maxWay/2+more, fmt.Sprintf("%d more", more))
	}
	return core.Invalidf("the nodes form a cycle: %s", strings.Join(names, " before ")).WithHint("no node can wait for one that comes after it")
}

// A forest has the parents and children of nodes, by the places of the nodes in a list.
type forest struct {
	parent   []int
	roots    []int
	children [][]int
}

// none is the parent of a root.
const none = -1

// forestOf returns the forest of nodes with these parents. It leaves out a parent that would
// close a cycle.
func forestOf(parents []int) forest {
	f := forest{parent: slices.Clone(parents), children: make([][]int, len(parents))}
	tops := slices.Repeat([]int{none}, len(parents)) // by node: some node further up
	for place, parent := range parents {
		if parent != none && topOf(tops, parent) == place {
			parent = none
		}
		if f.parent[place] = parent; parent == none {
			f.roots = append(f.roots, place)
			continue
		}
		tops[place] = parent
		f.children[parent] = append(f.children[parent], place)
	}
	return f
}

// topOf returns the current root above a node. It shortens the path for the next call.
func topOf(tops []int, place int) int {
	top := place
	for tops[top] != none {
		top = tops[top]
	}
	for place != top {
		place, tops[place] = tops[place], top
	}
	return top
}

// order returns all places, each before those below it, one tree after the other.
func (f forest) order() (order []int) {
	todo := slices.Clone(f.roots)
	slices.Reverse(todo)
	for len(todo) > 0 { // trees from logs may be too deep for recursion
		at := todo[len(todo)-1]
		order, todo = append(order, at), todo[:len(todo)-1]
		for _, child := range slices.Backward(f.children[at]) {
			todo = append(todo, child)
		}
	}
	return order
}

// below returns how many nodes are below each node.
func (f forest) below() []int {
	counts := make([]int, len(f.children))
	for _, place := range slices.Backward(f.order()) {
		if above := f.parent[place]; above != none {
			counts[above] += 1 + counts[place]
		}
	}
	return counts
}
