package outline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// A Line is one line of a drawn tree: a frame, or the number of frames left
// out in its place. A tree is a list of lines, each frame before those below
// it.
type Line struct {
	Branch
	Frame core.Frame
	Agent string              // type of the agent or subagent that the frame was made for; empty for other frames
	Turn  bool                // the frame is that of a turn of the user's
	More  map[core.Status]int // frames left out, by status; nil on the line of a frame
	Short int                 // number of short turns that the line stands for; 0 on other lines
}

// SetBranches sets Last and Leaf of lines whose Depth is set. No line may be
// more than one level deeper than the line before it.
func SetBranches(lines []Line) {
	open := []bool{false} // by depth: whether a line with the same parent follows
	below := int32(0)     // depth of the line that follows
	for i := len(lines) - 1; i >= 0; i-- {
		b := &lines[i].Branch
		for int(b.Depth)+1 >= len(open) {
			open = append(open, false)
		}
		b.Last, b.Leaf = !open[b.Depth], below <= b.Depth
		open[b.Depth], open[b.Depth+1] = true, false
		below = b.Depth
	}
}

// statusIcons are the signs of the first description's tree.
var statusIcons = map[core.Status]string{
	core.Completed: "✓", core.InProgress: "→", core.Planned: "○", core.Invalidated: "✗", core.Blocked: "!", core.Failed: "⚠",
}

// Icon returns the sign of the status in a tree.
func Icon(s core.Status) string { return cmp.Or(statusIcons[s], "?") }

// Legend returns a line that explains the signs of a tree.
func Legend() string {
	return strings.Join(lo.Map(core.Statuses, func(s core.Status, _ int) string { return Icon(s) + " " + string(s) }), "  ")
}

// Lengths in characters to which a tree cuts texts.
const (
	treeGoal    = 50
	treeReason  = 60
	treeSummary = 80
	treeListed  = 3   // number of decisions and of artifacts shown, not a length
	treeWide    = 600 // of details on several lines
	minTreeText = 10
)

// How deep a tree is drawn with branches, and the characters they take per
// level. Deeper lines begin with their depth as a number; otherwise a chain of
// frames would take space quadratic in its length.
const (
	branchLevels = 40
	branchWidth  = 4
)

// DrawOptions say how a tree is drawn.
type DrawOptions struct {
	Current string // id of the frame to mark as current; empty for none
	Details bool   // add reason, summary, decisions and artifacts below each frame
	MaxLine int    // characters in a line: goals and details are cut to it, ids never; 0: no limit
	Wide    bool   // goals take all the room of a line, details several lines
}

// Draw draws lines that belong together.
func Draw(lines []Line, opt DrawOptions) string {
	return NewDrawer(opt).Lines(lines)
}

// A Drawer draws a tree line by line, so that a tree of any size needs no
// more memory than a small one.
type Drawer struct {
	opt    DrawOptions
	indent []string // what precedes lines of each depth, as far as branches are drawn
}

// NewDrawer returns a drawer for one tree.
func NewDrawer(opt DrawOptions) *Drawer {
	levels := branchLevels
	if opt.MaxLine > 0 {
		levels = min(levels, opt.MaxLine/2/branchWidth)
	}
	return &Drawer{opt: opt, indent: make([]string, levels+2)}
}

// Lines draws the next lines of the tree. Without details, it gathers short turns.
func (d *Drawer) Lines(lines []Line) string {
	if !d.opt.Details {
		lines = d.gather(lines)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(d.Draw(line))
	}
	return b.String()
}

// Which turns are gathered: not the last ones below a root, and not one or two alone.
const (
	lastTurns = 5
	fewTurns  = 3
)

// IsShort reports whether the frame of a turn left no file and no check.
func IsShort(f core.Frame) bool {
	return f.Status == core.Completed && len(f.Artifacts)+len(f.Results) == 0
}

// gather returns lines with one line in the place of several turns that left nothing behind.
func (d *Drawer) gather(lines []Line) (gathered []Line) {
	later, short := 0, make([]bool, len(lines))
	for i, line := range slices.Backward(lines) {
		if line.Depth == 0 {
			later = 0
		} else if line.Turn {
			f := line.Frame
			short[i] = later >= lastTurns && line.Leaf && IsShort(f) && f.ID != d.opt.Current
			later++
		}
	}
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && short[end] {
			end++
		}
		if end-i >= fewTurns {
			gathered = append(gathered, Line{Branch: lines[end-1].Branch, Short: end - i})
		} else {
			end = max(end, i+1)
			gathered = append(gathered, lines[i:end]...)
		}
		i = end
	}
	return gathered
}

// Draw returns the next line of the tree and the lines of its details. It
// reduces texts of frames to one line without control characters. Each line
// ends with a newline.
func (d *Drawer) Draw(line Line) string {
	head, below := d.branch(line.Branch)
	if line.Short > 0 {
		return fmt.Sprintf("%s%s %d short turns\n", head, Icon(core.Completed), line.Short)
	}
	if line.More != nil {
		total, each := CountText(line.More)
		return fmt.Sprintf("%s… %d more: %s\n", head, total, each)
	}
	var b strings.Builder
	b.WriteString(d.frame(head, line) + "\n")
	if d.opt.Details {
		if line.Leaf {
			below += "    "
		} else {
			below += "│   "
		}
		d.details(&b, below, line.Frame)
	}
	return b.String()
}

// branch returns the beginning of a line, and the text before the branches of
// the lines below it.
func (d *Drawer) branch(at Branch) (head, below string) {
	depth := int(at.Depth)
	switch {
	case depth == 0:
		return "", ""
	case depth >= len(d.indent)-1:
		return fmt.Sprintf("depth %d: ", depth), ""
	}
	branch, stem := "├── ", "│   "
	if at.Last {
		branch, stem = "└── ", "    "
	}
	indent := d.indent[depth]
	d.indent[depth+1] = indent + stem
	return indent + branch, indent + stem
}

// frame returns the line of a frame.
func (d *Drawer) frame(head string, line Line) string {
	f := line.Frame
	head += Icon(f.Status) + " "
	tail := " [" + core.OneLine(f.ID, 0) + "]"
	if f.ID == "" {
		tail = " (it has no id)"
	}
	if line.Fault != NoFault {
		tail += " (" + line.Fault.String() + ")"
	}
	if line.Agent != "" {
		tail += " @" + core.OneLine(line.Agent, treeGoal)
	}
	tail += f.MachineSuffix()
	if f.ID == d.opt.Current && f.ID != "" {
		tail += " ← current"
	}
	if !line.Turn || d.opt.Details || !f.Status.Ended() || f.Summary == "" {
		return head + core.OneLine(f.Goal, d.fit(treeGoal, head+tail)) + tail
	}
	head += core.OneLine(f.Goal, min(treeGoal, d.fit(treeGoal, head+tail))) + tail + ": "
	if d.opt.MaxLine > 0 && d.opt.MaxLine-utf8.RuneCountInString(head) <= minTreeText {
		return strings.TrimSuffix(head, ": ")
	}
	return head + core.OneLine(f.Summary, d.fit(treeSummary, head))
}

// details draws further facts about a frame.
func (d *Drawer) details(b *strings.Builder, indent string, f core.Frame) {
	if f.InvalidationReason != "" {
		d.detail(b, indent, "reason: ", f.InvalidationReason, treeReason)
	}
	if f.Summary != "" {
		d.detail(b, indent, "summary: ", f.Summary, treeSummary)
	}
	d.list(b, indent, "decision", f.Decisions)
	d.list(b, indent, "artifact", f.Artifacts)
}

// list draws the first details of one kind, and the number of the others.
func (d *Drawer) list(b *strings.Builder, indent, kind string, items []string) {
	shown := treeListed
	if len(items) == shown+1 {
		shown++ // the last takes no more lines than its count
	}
	for _, item := range items[:min(len(items), shown)] {
		d.detail(b, indent, kind+": ", item, treeSummary)
	}
	if more := len(items) - shown; more > 0 {
		fmt.Fprintf(b, "%sand %d more %ss\n", indent, more, kind)
	}
}

func (d *Drawer) detail(b *strings.Builder, indent, name, text string, limit int) {
	if !d.opt.Wide {
		b.WriteString(indent + name + core.OneLine(text, d.fit(limit, indent+name)) + "\n")
		return
	}
	for _, line := range core.Wrap(core.OneLine(text, treeWide), d.fit(0, indent+name)) {
		b.WriteString(indent + name + line + "\n")
		name = strings.Repeat(" ", len(name))
	}
}

// CountText returns how many frames there are, and how many of each status, in words.
func CountText(counts map[core.Status]int) (total int, each string) {
	var parts []string
	for _, s := range core.Statuses {
		if n := counts[s]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return total, strings.Join(parts, ", ")
}

// fit returns the length that a text may have, at most limit characters, on a line
// with these other parts.
func (d *Drawer) fit(limit int, others string) int {
	if d.opt.MaxLine == 0 {
		return limit
	}
	room := max(minTreeText, d.opt.MaxLine-utf8.RuneCountInString(others)-1) // for the ellipsis
	if d.opt.Wide {
		return room
	}
	return min(limit, room)
}
