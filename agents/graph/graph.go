// Package graph holds the graph of agents: sessions, agents and convergences, and the edges
// between them. The edges from parents to the agents that they started form a forest. A Trail is
// such a forest that is read from the logs that hosts keep or print; it can be drawn, followed as
// the logs grow, and imported as finished frames.
// Package transcripts parses the logs.
package graph

import (
	"slices"

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

// A Graph has nodes, and edges between them.
type Graph struct {
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"` // those of Spawned first, in the order of the started nodes
	forest forest // of the edges of Spawned
}

// New returns the graph of nodes, each below its parent, with links between them. Records and logs may
// lack a part, and the rest is worth a drawing: New leaves out nodes without an id of their own, and
// links that are there already or lead to no node. If parents form a cycle, it leaves one of them out,
// and that node is unparented.
func New(nodes []Node, links []Edge) *Graph {
	g := &Graph{Nodes: []Node{}, Edges: []Edge{}}
	places := map[string]int{}
	for _, n := range nodes {
		if _, taken := places[n.ID]; taken || n.ID == "" {
			continue
		}
		places[n.ID] = len(g.Nodes)
		g.Nodes = append(g.Nodes, n)
	}
	g.forest = forestOf(lo.Map(g.Nodes, func(n Node, _ int) int {
		if parent, known := places[n.Parent]; known {
			return parent
		}
		return none
	}))
	for _, place := range g.forest.order {
		n, above := &g.Nodes[place], g.forest.parent[place]
		n.Depth, n.Unparented = 0, above == none && (n.Parent != "" || n.Kind == KindSubagent)
		if above != none {
			n.Depth = g.Nodes[above].Depth + 1
		}
	}
	for place, above := range g.forest.parent {
		if above != none {
			g.Edges = append(g.Edges, Edge{From: g.Nodes[above].ID, To: g.Nodes[place].ID, Kind: Spawned})
		}
	}
	for _, link := range lo.Uniq(links) {
		if lo.HasKey(places, link.From) && lo.HasKey(places, link.To) && link.From != link.To {
			g.Edges = append(g.Edges, link)
		}
	}
	return g
}

// A forest has the parents and children of nodes, by the places of the nodes in a list.
type forest struct {
	parent   []int
	children [][]int
	order    []int // all places, each before those below it, one tree after the other
}

const none = -1

// forestOf returns the forest of nodes with these parents. It leaves out one parent of each cycle.
func forestOf(parents []int) forest {
	f := forest{parent: slices.Clone(parents), children: make([][]int, len(parents))}
	for place, parent := range parents {
		if parent != none {
			f.children[parent] = append(f.children[parent], place)
		}
	}
	seen := make([]bool, len(parents))
	var visit func(place int)
	visit = func(place int) {
		seen[place], f.order = true, append(f.order, place)
		for _, child := range f.children[place] {
			visit(child)
		}
	}
	for place, parent := range parents {
		if parent == none {
			visit(place)
		}
	}
	for place := range parents {
		if seen[place] {
			continue
		}
		last, path := place, map[int]bool{place: true} // up into a cycle, since no root is above
		for !path[parents[last]] {
			last = parents[last]
			path[last] = true
		}
		above := &f.children[parents[last]]
		f.parent[last], *above = none, lo.Without(*above, last)
		visit(last)
	}
	return f
}

func (f forest) below() []int {
	counts := make([]int, len(f.order))
	for _, place := range slices.Backward(f.order) {
		if above := f.parent[place]; above != none {
			counts[above] += 1 + counts[place]
		}
	}
	return counts
}
