package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"

	"flame/core"
	"flame/core/outline"
	"flame/project/view"
	"flame/render"
)

// Tree prints a tree of any size while reading it, as one JSON document or as text.
func (p *Printer) Tree(ctx context.Context, tree *view.Outline, details bool) error {
	return p.writeTree(ctx, p.Out, tree, details, p.coloured)
}

// DrawnTree returns what Tree prints, without colours.
func (p *Printer) DrawnTree(ctx context.Context, tree *view.Outline, details bool) (string, error) {
	var text strings.Builder
	err := p.writeTree(ctx, &text, tree, details, func(drawn string) string { return drawn })
	return text.String(), err
}

func (p *Printer) writeTree(ctx context.Context, to io.Writer, tree *view.Outline, details bool, paint func(string) string) error {
	document := newJSONTree(tree.Current)
	drawer := outline.NewDrawer(outline.DrawOptions{Current: tree.Current, Details: details, MaxLine: p.Width(), Wide: p.Width() > 0})
	for lines, err := range tree.Pages(ctx) {
		var page []byte
		switch {
		case err != nil:
			return err
		case p.JSON:
			err = document.add(lines)
			page = plainJSON(document.take())
		default:
			page = []byte(paint(core.Printable(drawer.Lines(lines))))
		}
		if err == nil {
			_, err = to.Write(page)
		}
		if err != nil {
			return err
		}
	}
	end := paint(outline.Legend())
	if tree.Roots > 0 {
		end += "\n" + render.Count(tree.Roots, "more root") + " of " + render.Count(tree.Frames, "frame") + ": `flame tree --all` draws all"
	}
	if p.JSON {
		document.end()
		end = string(document.take())
	}
	_, err := io.WriteString(to, end+"\n")
	return err
}

// A treeNode is a frame of a tree in JSON, without the frames below it.
type treeNode struct {
	core.Frame
	Current bool   `json:"current,omitempty"`
	Agent   string `json:"agent,omitempty"` // type of the agent that it was made for
	Turn    bool   `json:"turn,omitempty"`  // it is that of a turn of the user's
	Fault   string `json:"fault,omitempty"` // why it is at the top
}

// Bounds of a tree in JSON. Programs refuse documents that are nested deeper than a few
// thousand levels, and each frame takes two. With an indent for every level, the size of a
// chain of frames would grow with the square of its length.
const (
	jsonLevels  = 500 // deeper frames are only counted
	jsonIndents = 40
)

// A jsonTree writes a tree as a JSON list of nested objects, line by line.
type jsonTree struct {
	current string
	buffer  bytes.Buffer
	nodes   *json.Encoder
	open    []openNode // the path to the last node written
	begun   bool       // the first node of the list has been written
}

// An openNode is a node whose object is not closed yet.
type openNode struct {
	begun bool                // its list of children has begun
	more  map[core.Status]int // frames below it that are left out
}

func newJSONTree(current string) *jsonTree {
	t := &jsonTree{current: current}
	t.nodes = json.NewEncoder(&t.buffer)
	t.nodes.SetEscapeHTML(false)
	t.buffer.WriteByte('[')
	return t
}

// TreeJSON returns lines as a JSON list, and how many roots were left out.
func TreeJSON(lines []outline.Line, current string) (list json.RawMessage, more map[core.Status]int, err error) {
	if last := len(lines) - 1; last >= 0 && lines[last].Depth == 0 {
		more = lines[last].More
	}
	t := newJSONTree(current)
	err = t.add(lines)
	t.end()
	return t.take(), more, err
}

// add writes lines.
func (t *jsonTree) add(lines []outline.Line) error {
	for _, line := range lines {
		if err := t.line(line); err != nil {
			return err
		}
	}
	return nil
}

// take returns the text that was written since the last call.
func (t *jsonTree) take() []byte {
	text := bytes.Clone(t.buffer.Bytes())
	t.buffer.Reset()
	return text
}

// indent begins a new line in the node at a depth.
func (t *jsonTree) indent(depth int, extra string) string {
	return "\n" + strings.Repeat("    ", min(depth, jsonIndents)) + extra
}

// line writes a node and leaves its object open, or adds to the count of the node
// above. It skips the counts of roots: the list has no place for them.
func (t *jsonTree) line(line outline.Line) error {
	depth := min(int(line.Depth), len(t.open))
	if line.More != nil || depth >= jsonLevels {
		t.count(depth-1, line)
		return nil
	}
	t.close(depth)
	begun := &t.begun
	if depth > 0 {
		begun = &t.open[depth-1].begun
	}
	switch {
	case *begun:
		t.buffer.WriteByte(',')
	case depth > 0:
		t.buffer.WriteString("," + t.indent(depth, `"children": [`))
	}
	*begun = true
	t.open = append(t.open, openNode{})
	brace := t.indent(depth, "  ")
	t.buffer.WriteString(brace)
	t.nodes.SetIndent(brace[1:], "  ")
	err := t.nodes.Encode(treeNode{whole(line.Frame), line.Frame.ID == t.current && t.current != "", line.Agent, line.Turn, line.Fault.String()})
	t.buffer.Truncate(t.buffer.Len() - len(brace+"}\n"))
	return err
}

// count adds the frames of a line to those left out below the open node at a
// depth.
func (t *jsonTree) count(depth int, line outline.Line) {
	if depth < 0 {
		return
	}
	n := &t.open[depth]
	if n.more == nil {
		n.more = map[core.Status]int{}
	}
	if line.More == nil {
		n.more[line.Frame.Status]++
	}
	for status, count := range line.More {
		n.more[status] += count
	}
}

// close ends the objects of all nodes at this depth and deeper.
func (t *jsonTree) close(depth int) {
	for len(t.open) > depth {
		last := len(t.open) - 1
		n := t.open[last]
		t.open = t.open[:last]
		if n.begun {
			t.buffer.WriteString(t.indent(last, "    ]"))
		}
		if n.more != nil {
			t.buffer.WriteString("," + t.indent(last, `    "more": `))
			t.nodes.SetIndent(t.indent(last, "    ")[1:], "  ")
			_ = t.nodes.Encode(n.more) // counts can always be encoded
			t.buffer.Truncate(t.buffer.Len() - len("\n"))
		}
		t.buffer.WriteString(t.indent(last, "  }"))
	}
}

// end ends the list.
func (t *jsonTree) end() {
	t.close(0)
	if t.begun {
		t.buffer.WriteByte('\n')
	}
	t.buffer.WriteByte(']')
}
