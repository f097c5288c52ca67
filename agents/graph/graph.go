// Package graph holds the rules of the graph of agents: sessions, agents and
// convergences, and the edges between them. It has no cycles, and who started
// whom forms a forest. Where its nodes come from, and what is done about them,
// it leaves to others.
package graph

import (
	"fmt"
	"slices"
	"strings"

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
	Usage      core.Usage  `json:"usage"`                // its own usage and cost, excluding what it started
	Started    core.Millis `json:"started,omitempty"`    //
	Ended      core.Millis `json:"ended,omitempty"`      //
	Parent     string      `json:"parent,omitempty"`     // id of what started it; it need not be in the graph yet
	Depth      int         `json:"depth"`                // number of nodes above it; set by the graph
	Unparented bool        `json:"unparented,omitempty"` // something unknown started it; set by the graph
}

// An EdgeKind says what an edge means.
type EdgeKind string

// The kinds of edges. Whether From or To comes first in time is part of the
// meaning.
const (
	Spawned       EdgeKind = "spawned"        // From started To, and nothing else did
	Handoff       EdgeKind = "handoff"        // From gave its work to To
	ConvergedInto EdgeKind = "converged_into" // the result of From went into To
	ResumedFrom   EdgeKind = "resumed_from"   // From continues where To stopped
)

// edgeKinds lists all kinds.
var edgeKinds = []EdgeKind{Spawned, Handoff, ConvergedInto, ResumedFrom}

// An Edge runs from one node to another.
type Edge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
}

// A Graph is a directed graph without cycles. The zero value is empty; it is
// not safe for concurrent use.
type Graph struct {
	nodes  []Node           // in order of addition
	places map[string]int   // in nodes, by id
	parked map[string][]int // places of nodes, by the id of the missing parent
	edges  []link
	known  map[Edge]bool
	before [][]int // by node: the edges from its direct predecessors
	after  [][]int // by node: the edges to its direct successors
}

// A link is an edge in the order of time: first has ended, or at least begun,
// when second begins. ResumedFrom points back in time.
type link struct {
	Edge
	first, second int // places of the nodes
}

// AddNode adds a node, below its Parent if it names one. A node whose parent is
// unknown is unparented until that one is added, and stays so if the two would
// form a cycle. An id that is blank or taken is refused.
func (g *Graph) AddNode(n Node) error {
	if err := g.check(n); err != nil {
		return err
	}
	if g.places == nil {
		g.places, g.parked, g.known = map[string]int{}, map[string][]int{}, map[Edge]bool{}
	}
	n.Depth, n.Unparented = 0, false
	place := len(g.nodes)
	g.places[n.ID] = place
	g.nodes = append(g.nodes, n)
	g.before, g.after = append(g.before, nil), append(g.after, nil)
	if n.Parent != "" {
		g.adopt(place)
	}
	waiting := g.parked[n.ID]
	delete(g.parked, n.ID)
	for _, child := range waiting {
		g.adopt(child)
	}
	return nil
}

func (g *Graph) check(n Node) error {
	_, taken := g.places[n.ID]
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

// adopt puts a node below the parent that it names, or parks it until that
// exists.
func (g *Graph) adopt(place int) {
	n := g.nodes[place]
	parent, known := g.places[n.Parent]
	if !known {
		g.parked[n.Parent] = append(g.parked[n.Parent], place)
		return
	}
	if !g.reaches(place, parent) {
		g.add(link{Edge{From: n.Parent, To: n.ID, Kind: Spawned}, parent, place})
	}
}

// Link adds an edge. It refuses one from a node to itself, to or from a missing
// node, a duplicate, a second parent, and what would close a cycle. All kinds
// count together for that, each in the order of time: no node can wait for one
// that begins after it. A run that is handed over and resumed needs no
// exception, as both edges then point the same way in time.
func (g *Graph) Link(e Edge) error {
	if err := g.checkEnds(e); err != nil {
		return err
	}
	l := link{e, g.places[e.From], g.places[e.To]}
	parent := &g.nodes[l.second].Parent
	switch {
	case g.known[e]:
		return core.Invalidf("%s exists already", e).WithHint("link two nodes once in each way")
	case e.Kind == Spawned && *parent != "":
		return core.Invalidf("%q was started by %q and cannot have been started by %q", e.To, *parent, e.From).WithHint("a node has one parent")
	case e.Kind == ResumedFrom:
		l.first, l.second = l.second, l.first
	}
	if g.reaches(l.second, l.first) {
		return core.Invalidf("%s would close a cycle: %s", e, g.way(l.second, l.first)).
			WithHint("no node can wait for one that comes after it")
	}
	if e.Kind == Spawned {
		*parent = e.From
	}
	g.add(l)
	return nil
}

// checkEnds checks the edge itself, and that its nodes exist.
func (g *Graph) checkEnds(e Edge) error {
	if !slices.Contains(edgeKinds, e.Kind) {
		return core.Invalidf("there are no edges of kind %q", e.Kind).WithHint("use spawned, handoff, converged_into or resumed_from")
	}
	for _, id := range []string{e.From, e.To} {
		if _, known := g.places[id]; !known {
			return core.NotFoundf("%s: there is no node %q", e, id).WithHint("add the node first")
		}
	}
	if e.From == e.To {
		return core.Invalidf("%s: a node cannot be linked to itself", e).WithHint("link it to another node")
	}
	return nil
}

// String returns an edge as errors name it.
func (e Edge) String() string { return fmt.Sprintf("%q -> %q (%s)", e.From, e.To, e.Kind) }

func (g *Graph) add(l link) {
	g.known[l.Edge] = true
	g.before[l.second] = append(g.before[l.second], len(g.edges))
	g.after[l.first] = append(g.after[l.first], len(g.edges))
	g.edges = append(g.edges, l)
}

// Node returns one node.
func (g *Graph) Node(id string) (n Node, ok bool) {
	place, ok := g.places[id]
	if !ok {
		return n, false
	}
	n = g.nodes[place]
	for above, is := g.parent(place); is; above, is = g.parent(above) {
		n.Depth++
	}
	n.Unparented = n.Depth == 0 && n.hasParent()
	return n, true
}

// Nodes returns all nodes in the order in which they came.
func (g *Graph) Nodes() []Node {
	nodes := slices.Clone(g.nodes)
	for _, place := range g.order() {
		above, is := g.parent(place)
		if is {
			nodes[place].Depth = nodes[above].Depth + 1
		}
		nodes[place].Unparented = !is && nodes[place].hasParent()
	}
	return nodes
}

// hasParent reports whether something must have started it.
func (n Node) hasParent() bool { return n.Parent != "" || n.Kind == KindSubagent }

// parent returns what started a node, if that is known.
func (g *Graph) parent(place int) (above int, is bool) {
	for _, e := range g.before[place] {
		if g.edges[e].Kind == Spawned {
			return g.edges[e].first, true
		}
	}
	return 0, false
}

// Edges returns all edges in order of addition; those to late parents were
// added when they were adopted.
func (g *Graph) Edges() []Edge {
	edges := make([]Edge, len(g.edges))
	for i, l := range g.edges {
		edges[i] = l.Edge
	}
	return edges
}
