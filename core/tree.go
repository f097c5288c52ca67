package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A TreeNode is a frame of a drawable tree with those below it.
type TreeNode struct {
	Frame    Frame
	Children []TreeNode
	More     map[Status]int // children left out, counted
}

// DrawOptions say how a tree is drawn.
type DrawOptions struct {
	Current string            // id of the frame to mark as current; empty for none
	Details bool              // add reason, summary and artifacts below each frame
	Marks   map[string]string // what to say behind a frame, by id
	MaxLine int               // characters in a line: goals and details are cut to it, ids never; 0: no limit
	More    map[Status]int    // roots left out, counted
}

// statusIcons are the signs of the seeds' tree (spec: tools, flame_tree).
var statusIcons = map[Status]string{
	Completed: "✓", InProgress: "→", Planned: "○", Invalidated: "✗", Blocked: "!", Failed: "⚠",
}

// Icon gives the sign that stands for the status in a tree.
func (s Status) Icon() string { return cmp.Or(statusIcons[s], "?") }

// TreeLegend explains the signs of a tree in one line.
func TreeLegend() string {
	var parts []string
	for _, s := range Statuses {
		parts = append(parts, s.Icon()+" "+string(s))
	}
	return strings.Join(parts, "  ")
}

// Lengths in characters to which a tree cuts texts (spec: tools, flame_tree).
const (
	treeGoal      = 50
	treeReason    = 60
	treeSummary   = 80
	treeArtifacts = 3 // how many are shown
	minTreeText   = 10
)

// DrawTree draws the trees below nodes, one line a frame: roots newest first,
// children by status and then by creation. Texts of frames are brought to one
// line without control characters. Every line ends with a newline.
func DrawTree(nodes []TreeNode, opt DrawOptions) string {
	d := drawing{DrawOptions: opt}
	roots := slices.Clone(nodes)
	slices.SortStableFunc(roots, func(a, b TreeNode) int { return cmp.Compare(b.Frame.CreatedAt, a.Frame.CreatedAt) })
	for _, root := range roots {
		d.frame("", root.Frame)
		d.below("", root)
	}
	d.more("", opt.More)
	return d.String()
}

type drawing struct {
	strings.Builder
	DrawOptions
}

// below draws the children of node; indent is what stands before their
// branches.
func (d *drawing) below(indent string, node TreeNode) {
	children := slices.Clone(node.Children)
	slices.SortStableFunc(children, func(a, b TreeNode) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Statuses, a.Frame.Status), slices.Index(Statuses, b.Frame.Status)),
			cmp.Compare(a.Frame.CreatedAt, b.Frame.CreatedAt),
		)
	})
	if d.Details {
		stem := "    "
		if len(children) > 0 || len(node.More) > 0 {
			stem = "│   "
		}
		d.details(indent+stem, node.Frame)
	}
	for i, child := range children {
		branch, stem := "├── ", "│   "
		if i == len(children)-1 && len(node.More) == 0 {
			branch, stem = "└── ", "    "
		}
		d.frame(indent+branch, child.Frame)
		d.below(d.deep(indent+stem), child)
	}
	d.more(indent+"└── ", node.More)
}

// deep shortens an indent that would take more than half of a line, so that
// even a very deep tree can be read.
func (d *drawing) deep(indent string) string {
	over := utf8.RuneCountInString(indent) - d.MaxLine/2
	if d.MaxLine == 0 || over <= 0 {
		return indent
	}
	return "…" + string([]rune(indent)[over+1:])
}

// frame draws the line of a frame.
func (d *drawing) frame(indent string, f Frame) {
	head, tail := indent+f.Status.Icon()+" ", " ["+OneLine(f.ID, 0)+"]"
	if mark := d.Marks[f.ID]; mark != "" {
		tail += " " + OneLine(mark, 0)
	}
	if f.ID == d.Current {
		tail += " ← current"
	}
	d.WriteString(head + OneLine(f.Goal, d.fit(treeGoal, head+tail)) + tail + "\n")
}

// details draws what else there is to say about a frame.
func (d *drawing) details(indent string, f Frame) {
	if f.InvalidationReason != "" {
		d.detail(indent+"reason: ", f.InvalidationReason, treeReason)
	}
	if f.Summary != "" {
		d.detail(indent+"summary: ", f.Summary, treeSummary)
	}
	for i, artifact := range f.Artifacts {
		if i == treeArtifacts {
			d.WriteString(fmt.Sprintf("%sand %d more artifacts\n", indent, len(f.Artifacts)-i))
			break
		}
		d.detail(indent+"artifact: ", artifact, treeSummary)
	}
}

func (d *drawing) detail(head, text string, limit int) {
	d.WriteString(head + OneLine(text, d.fit(limit, head)) + "\n")
}

// more draws the line that counts frames left out.
func (d *drawing) more(indent string, counts map[Status]int) {
	total := 0
	var parts []string
	for _, s := range Statuses {
		if n := counts[s]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if total > 0 {
		d.WriteString(fmt.Sprintf("%s… %d more: %s\n", indent, total, strings.Join(parts, ", ")))
	}
}

// fit gives the length of a text of at most limit characters on a line whose other
// parts are given.
func (d *drawing) fit(limit int, others string) int {
	if d.MaxLine == 0 {
		return limit
	}
	room := d.MaxLine - utf8.RuneCountInString(others) - 1 // for the ellipsis
	return min(limit, max(minTreeText, room))
}
