package graph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

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
	raw, err := json.MarshalIndent(g, "", "  ")
	return string(raw) + "\n", err
}

// maxDepth is how deep a tree is drawn. Limits keep real ones far from it; deeper lines would be too long to read.
const maxDepth = 100

// drawTree indents nodes below those that started them; the other edges follow.
func drawTree(g *Graph) (string, error) {
	var b strings.Builder
	below, indents := g.forest.below(), make([]string, len(g.Nodes)) // of the lines below each node
	for _, place := range g.forest.order {
		n, above, sign := g.Nodes[place], g.forest.parent[place], ""
		switch {
		case n.Depth > maxDepth:
			continue
		case above == none:
		case place == lo.LastOrEmpty(g.forest.children[above]):
			sign, indents[place] = indents[above]+"└── ", indents[above]+"    "
		default:
			sign, indents[place] = indents[above]+"├── ", indents[above]+"│   "
		}
		b.WriteString(sign + n.line() + "\n")
		if n.Depth == maxDepth && below[place] > 0 {
			fmt.Fprintf(&b, "%s└── … and %d below\n", indents[place], below[place])
		}
	}
	for _, e := range g.Edges {
		if e.Kind != Spawned {
			fmt.Fprintf(&b, "[%s] -> [%s] %s\n", core.OneLine(e.From, 0), core.OneLine(e.To, 0), e.Kind)
		}
	}
	return b.String(), nil
}

func (n Node) line() string {
	parts := []string{n.title(), "[" + core.OneLine(n.ID, 0) + "]"}
	if n.Status != "" {
		parts = append(parts, n.status())
	}
	if tokens := n.Usage.Tokens(); tokens > 0 {
		parts = append(parts, core.Tokens(tokens))
	}
	if n.Usage.CostUSD > 0 {
		parts = append(parts, core.Cost(n.Usage))
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

func (n Node) caption(apart string) string {
	if n.Status == "" {
		return n.title()
	}
	return n.title() + apart + n.status()
}

func drawDot(g *Graph) (string, error) {
	var b strings.Builder
	b.WriteString("digraph agents {\n  node [shape=box]\n")
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s]\n", dotQuoted(n.ID), dotQuoted(n.caption("\n")))
	}
	for _, l := range g.Edges {
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
		case core.IsTerminalControl(r):
			fmt.Fprintf(&b, `\\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func drawMermaid(g *Graph) (string, error) {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	places := map[string]int{}
	for place, n := range g.Nodes {
		places[n.ID] = place
		fmt.Fprintf(&b, "  n%d[%q]\n", place, mermaidText(n.caption(", ")))
	}
	for _, l := range g.Edges {
		arrow := "-->"
		if l.Kind != Spawned {
			arrow = fmt.Sprintf("-.->|%q|", l.Kind)
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", places[l.From], arrow, places[l.To])
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
