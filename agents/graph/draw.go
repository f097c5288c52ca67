package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"flame/core"
)

// drawings maps each format to the function that draws a graph in it.
var drawings = map[string]func(*Graph) (string, error){
	"tree":    drawTree,
	"json":    drawJSON,
	"dot":     drawDot,
	"mermaid": drawMermaid,
}

// Formats lists the formats of Draw.
func Formats() []string { return []string{"tree", "json", "dot", "mermaid"} }

// Draw writes a graph as tree (text), json, dot (Graphviz) or mermaid. The same
// nodes and edges in the same order give the same bytes; labels, ids and
// statuses are data, whatever they contain.
func Draw(w io.Writer, g *Graph, format string) error {
	draw, known := drawings[format]
	if !known {
		return core.Invalidf("there is no format %q", format).WithHint("use %s", strings.Join(Formats(), ", "))
	}
	text, err := draw(g)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

func drawJSON(g *Graph) (string, error) {
	raw, err := json.MarshalIndent(struct {
		Nodes []Node `json:"nodes"`
		Edges []Edge `json:"edges"`
	}{append([]Node{}, g.Nodes()...), g.Edges()}, "", "  ")
	return string(raw) + "\n", err
}

// maxDepth is how deep a tree is drawn. Limits keep real ones far from it
// (spec: agents §4); deeper lines would be too long to read.
const maxDepth = 100

// drawTree indents nodes below those that started them; the other edges follow.
func drawTree(g *Graph) (string, error) {
	var b strings.Builder
	nodes, below := g.Nodes(), g.below()
	todo := branches(g.roots(), "", "", "")
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n, children := nodes[at.place], g.children(at.place)
		b.WriteString(at.sign + n.line() + "\n")
		if n.Depth >= maxDepth && len(children) > 0 {
			fmt.Fprintf(&b, "%s└── … and %d below\n", at.indent, below[at.place])
			continue
		}
		todo = append(todo, branches(children, at.indent, "├── ", "└── ")...)
	}
	for _, l := range g.edges {
		if l.Kind != Spawned {
			fmt.Fprintf(&b, "[%s] -> [%s] %s\n", core.OneLine(l.From, 0), core.OneLine(l.To, 0), l.Kind)
		}
	}
	return b.String(), nil
}

// below counts for each node what was started below it.
func (g *Graph) below() []int {
	counts := make([]int, len(g.nodes))
	for _, place := range slices.Backward(g.order()) {
		if above, is := g.parent(place); is {
			counts[above] += 1 + counts[place]
		}
	}
	return counts
}

// A branch is a node to be drawn.
type branch struct {
	place        int
	sign, indent string // what its line begins with, and the lines below it
}

// branches returns nodes with the same parent, last first: the next one to draw
// is at the end of the list.
func branches(places []int, indent, sign, lastSign string) (list []branch) {
	for i, place := range slices.Backward(places) {
		at := branch{place, indent + sign, indent}
		switch {
		case sign == "":
		case i == len(places)-1:
			at.sign, at.indent = indent+lastSign, indent+"    "
		default:
			at.indent = indent + "│   "
		}
		list = append(list, at)
	}
	return list
}

// roots returns the places of the nodes without a known parent.
func (g *Graph) roots() (places []int) {
	for place := range g.nodes {
		if _, is := g.parent(place); !is {
			places = append(places, place)
		}
	}
	return places
}

// children returns the places of what a node started, in order of addition.
func (g *Graph) children(place int) (places []int) {
	for _, e := range g.after[place] {
		if l := g.edges[e]; l.Kind == Spawned {
			places = append(places, l.second)
		}
	}
	slices.Sort(places)
	return places
}

// line returns a node in one line.
func (n Node) line() string {
	parts := []string{n.title(), "[" + core.OneLine(n.ID, 0) + "]"}
	if n.Status != "" {
		parts = append(parts, n.status())
	}
	if tokens := n.Usage.TokensIn + n.Usage.TokensOut + n.Usage.CacheRead + n.Usage.CacheWritten; tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", tokens))
	}
	if n.Usage.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", n.Usage.CostUSD))
	}
	switch {
	case n.Unparented && n.Parent != "":
		parts = append(parts, "(started by "+core.OneLine(n.Parent, maxLabel)+", which is not here)")
	case n.Unparented:
		parts = append(parts, "(started by an unknown agent)")
	}
	return strings.Join(parts, " ")
}

// maxLabel is the length in characters to which labels are cut in drawings.
const maxLabel = 80

// title names a node for people: its task, and its type.
func (n Node) title() string {
	text := core.OneLine(cmp.Or(n.Label, string(n.Kind)), maxLabel)
	if n.AgentType != "" {
		text += " (@" + core.OneLine(n.AgentType, maxLabel) + ")"
	}
	return text
}

func (n Node) status() string { return core.OneLine(n.Status, maxLabel) }

// caption returns a node and its status, separated by apart.
func (n Node) caption(apart string) string {
	if n.Status == "" {
		return n.title()
	}
	return n.title() + apart + n.status()
}

func drawDot(g *Graph) (string, error) {
	var b strings.Builder
	b.WriteString("digraph agents {\n  node [shape=box]\n")
	for _, n := range g.nodes {
		fmt.Fprintf(&b, "  %s [label=%s]\n", dotQuoted(n.ID), dotQuoted(n.caption("\n")))
	}
	for _, l := range g.inOrder() {
		fmt.Fprintf(&b, "  %s -> %s", dotQuoted(l.From), dotQuoted(l.To))
		if l.Kind != Spawned {
			fmt.Fprintf(&b, " [label=%s style=dashed]", dotQuoted(string(l.Kind)))
		}
		b.WriteByte('\n')
	}
	return b.String() + "}\n", nil
}

// dotQuoted returns a Graphviz string, in which only quotes, backslashes and
// line ends have a meaning. What would steer a terminal is written as a number.
func dotQuoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// inOrder returns the edges with those of Spawned first, in the order of the
// nodes that were started: a late parent changes nothing.
func (g *Graph) inOrder() []link {
	edges := slices.Clone(g.edges)
	slices.SortStableFunc(edges, func(a, b link) int {
		switch {
		case a.Kind == Spawned && b.Kind == Spawned:
			return cmp.Compare(a.second, b.second)
		case a.Kind == Spawned:
			return -1
		case b.Kind == Spawned:
			return 1
		}
		return 0
	})
	return edges
}

func drawMermaid(g *Graph) (string, error) {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for place, n := range g.nodes {
		fmt.Fprintf(&b, "  n%d[%q]\n", place, mermaidText(n.caption(", ")))
	}
	for _, l := range g.inOrder() {
		arrow := "-->"
		if l.Kind != Spawned {
			arrow = fmt.Sprintf("-.->|%q|", l.Kind)
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", g.places[l.From], arrow, g.places[l.To])
	}
	return b.String(), nil
}

// mermaidText removes any meaning from a label: Mermaid interprets markup of
// its own and of HTML, but reads entities by their codes.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\"#&;<>`\\[]{}()|*_~", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
