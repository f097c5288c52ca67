package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"flame/core"
)

// drawings are the formats that a trail can be drawn in.
var drawings = map[string]func(Trail) (string, error){
	"tree":    drawTree,
	"json":    drawJSON,
	"dot":     drawDot,
	"mermaid": drawMermaid,
}

// DrawFormats lists the formats of Draw.
func DrawFormats() []string { return []string{"tree", "json", "dot", "mermaid"} }

// Draw writes a trail as tree, json, dot (Graphviz) or mermaid. The same trail
// gives the same bytes; labels are data, whatever they hold.
func Draw(w io.Writer, t Trail, format string) error {
	draw, known := drawings[format]
	if !known {
		return core.Invalidf("there is no format %q", format).WithHint("use %s", strings.Join(DrawFormats(), ", "))
	}
	text, err := draw(t)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

func drawJSON(t Trail) (string, error) {
	raw, err := json.MarshalIndent(t, "", "  ")
	return string(raw) + "\n", err
}

// drawTree indents agents below those that started them.
func drawTree(t Trail) (string, error) {
	children := map[string][]TrailNode{}
	known := map[string]bool{}
	for _, n := range t.Nodes {
		known[n.ID] = true
	}
	for _, n := range t.Nodes {
		above := n.Parent
		if !known[above] {
			above = ""
		}
		children[above] = append(children[above], n)
	}
	var b strings.Builder
	var draw func(id, indent string)
	draw = func(id, indent string) {
		for i, n := range children[id] {
			branch, below := "├── ", "│   "
			if i == len(children[id])-1 {
				branch, below = "└── ", "    "
			}
			if id == "" {
				branch, below = "", ""
			}
			b.WriteString(indent + branch + n.line() + "\n")
			if n.ID != "" {
				draw(n.ID, indent+below)
			}
		}
	}
	draw("", "")
	return b.String(), nil
}

// line is a node in one line.
func (n TrailNode) line() string {
	parts := []string{n.label(), "[" + n.ID + "]", string(n.State)}
	if tokens := n.Usage.TokensIn + n.Usage.TokensOut + n.Usage.CacheRead + n.Usage.CacheWritten; tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", tokens))
	}
	if n.Usage.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", n.Usage.CostUSD))
	}
	if n.Unparented {
		parts = append(parts, "(started by an unknown agent)")
	}
	return strings.Join(parts, " ")
}

// maxLabel is the length in characters that descriptions are cut to in drawings.
const maxLabel = 80

// label names a node for people: what it is to do, and as what.
func (n TrailNode) label() string {
	text := n.Description
	if text == "" {
		text = n.Prompt
	}
	if text == "" {
		text = n.Kind
	}
	if n.Type != "" {
		return core.OneLine(text, maxLabel) + " (@" + core.OneLine(n.Type, maxLabel) + ")"
	}
	return core.OneLine(text, maxLabel)
}

func drawDot(t Trail) (string, error) {
	var b strings.Builder
	b.WriteString("digraph agents {\n  node [shape=box]\n")
	for _, n := range t.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s]\n", dotQuoted(n.ID), dotQuoted(n.label()+"\n"+string(n.State)))
	}
	for _, n := range t.Nodes {
		if n.Parent != "" {
			fmt.Fprintf(&b, "  %s -> %s\n", dotQuoted(n.Parent), dotQuoted(n.ID))
		}
	}
	return b.String() + "}\n", nil
}

// dotQuoted is a string of Graphviz, in which only quotes, backslashes and line
// ends mean anything.
func dotQuoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func drawMermaid(t Trail) (string, error) {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	places := map[string]int{}
	for i, n := range t.Nodes {
		places[n.ID] = i
		fmt.Fprintf(&b, "  n%d[%q]\n", i, mermaidText(n.label()+", "+string(n.State)))
	}
	for i, n := range t.Nodes {
		if above, known := places[n.Parent]; known && n.Parent != "" {
			fmt.Fprintf(&b, "  n%d --> n%d\n", above, i)
		}
	}
	return b.String(), nil
}

// mermaidText keeps a label from meaning anything: Mermaid reads entities by
// their codes, and markup of its own and of HTML otherwise.
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
