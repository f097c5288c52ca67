package trail

import (
	"cmp"
	"encoding/json"
	"io"

	"flame/agents/graph"
)

// Formats lists the formats of Draw.
func Formats() []string { return graph.Formats() }

// Draw writes a trail as tree, json, dot (Graphviz) or mermaid. The same trail
// gives the same bytes; labels are data, whatever they contain. As json it is
// everything the logs say, otherwise its graph.
func Draw(w io.Writer, t Trail, format string) error {
	if format == "json" {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(t)
	}
	g, err := t.Graph()
	if err != nil {
		return err
	}
	return graph.Draw(w, g, format)
}

// Graph returns the graph of who started whom.
func (t Trail) Graph() (*graph.Graph, error) {
	g := &graph.Graph{}
	for _, n := range t.Nodes {
		id := n.ID
		for _, taken := g.Node(id); taken; _, taken = g.Node(id) {
			id += "'" // hosts number calls anew in each session, and nothing else is known of some agents
		}
		err := g.AddNode(graph.Node{
			ID: id, Kind: n.Kind, Parent: n.Parent, Label: cmp.Or(n.Description, n.Prompt), Status: string(n.State),
			AgentType: n.Type, Model: n.Model, Usage: n.Usage, Started: n.Started, Ended: n.Ended,
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}
