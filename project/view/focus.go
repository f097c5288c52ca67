package view

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// focusShare limits the children that a focused tree shows of each frame on the path: at the
// usual depths this makes about 60 lines, 8 KB of text.
const focusShare = 10

// A focus builds a focused tree. The path leads from the top down to the caller's frame;
// each level of the tree shows the frame on the path and some frames beside it.
type focus struct {
	tx       project.Tx
	way      []core.Frame  // the path
	fault    outline.Fault // of the first frame on it
	archived bool
}

// focusedTree reads the frames on the path to the caller's frame and some beside each, and
// counts the frames left out below each frame shown.
func focusedTree(s *project.Op, tree *Tree, scope project.FrameQuery) error {
	f := &focus{tx: s.Tx, archived: scope.Archived}
	top, err := f.begin(tree.Current, scope)
	if err != nil {
		return err
	}
	before, after, err := f.level(top, 0)
	if err != nil {
		return err
	}
	if len(f.way) > 0 {
		before[len(before)-1].Fault = f.fault
	}
	for i, above := range f.way {
		left, right, err := f.level(project.FrameQuery{Parent: above.ID}, i+1)
		if err != nil {
			return err
		}
		before, after = append(before, left...), append(right, after...)
	}
	tree.Lines = append(before, after...)
	outline.SetBranches(tree.Lines)
	return nil
}

// begin finds the path, and returns the query for the top level.
func (f *focus) begin(current string, scope project.FrameQuery) (top project.FrameQuery, err error) {
	if err := f.findWay(current); err != nil {
		return top, err
	}
	if scope.Under == "" {
		return project.FrameQuery{Roots: true}, nil
	}
	at := slices.IndexFunc(f.way, func(frame core.Frame) bool { return frame.ID == scope.Under })
	if at >= 0 {
		f.way, f.fault = f.way[at:], outline.NoFault
		return project.FrameQuery{}, nil
	}
	root, err := f.tx.Frame(scope.Under)
	f.way, f.fault = []core.Frame{root}, outline.NoFault
	return project.FrameQuery{}, err
}

// findWay reads the caller's frame and the frames above it, the topmost first. The path
// begins below a frame without an id, which flame cannot look up.
func (f *focus) findWay(current string) error {
	if current == "" {
		return nil
	}
	frame, err := f.tx.Frame(current)
	if err != nil {
		return err
	}
	above, err := f.tx.Ancestors(current, project.MaxAncestors)
	if err != nil {
		return err
	}
	f.way = append([]core.Frame{frame}, above...)
	if nameless := slices.IndexFunc(f.way, func(f core.Frame) bool { return f.ID == "" }); nameless > 0 {
		f.way = f.way[:nameless]
	}
	slices.Reverse(f.way)
	f.fault, err = f.faultOf(f.way[0], len(above) == project.MaxAncestors)
	return err
}

// faultOf returns why the first frame on the path is at the top.
func (f *focus) faultOf(first core.Frame, cut bool) (outline.Fault, error) {
	switch {
	case first.Parent == "":
		return outline.NoFault, nil
	case cut:
		return outline.TooDeep, nil
	case first.Parent == first.ID:
		return outline.OwnParent, nil
	}
	_, err := f.tx.Frame(first.Parent)
	if errors.Is(err, core.ErrNotFound) {
		return outline.NoParent, nil
	}
	return outline.InCycle, err
}

// level returns the lines at a depth: those up to the frame on the path, below which the
// next level follows, and those after it. It counts the frames below the others.
func (f *focus) level(q project.FrameQuery, depth int) (before, after []outline.Line, err error) {
	shown, rest, err := f.pick(q, depth)
	if err != nil {
		return nil, nil, err
	}
	for _, frame := range shown {
		line := outline.Line{Branch: outline.Branch{Depth: int32(depth)}, Frame: frame}
		if depth < len(f.way) && frame.ID == f.way[depth].ID { // it is the one on the path
			before, after = append(before, line), nil
			continue
		}
		counts, err := project.CountChildren(f.tx, frame.ID)
		if err != nil {
			return nil, nil, err
		}
		after = appendMore(append(after, line), counts, depth+1)
	}
	return before, appendMore(after, rest, depth), nil
}

// appendMore appends the line that counts frames left out, if there are any.
func appendMore(lines []outline.Line, counts map[core.Status]int, depth int) []outline.Line {
	if project.Total(counts) == 0 {
		return lines
	}
	return append(lines, outline.Line{Branch: outline.Branch{Depth: int32(depth)}, More: counts})
}

// pick reads some of the frames that q describes, in tree order, and counts the rest. The
// zero query stands for the frame on the path alone.
func (f *focus) pick(q project.FrameQuery, depth int) (shown []core.Frame, rest map[core.Status]int, err error) {
	onWay := f.way[min(depth, len(f.way)):min(depth+1, len(f.way))]
	if !q.Roots && q.Parent == "" {
		return onWay, nil, nil
	}
	// Archived children are shown on request, and never counted.
	counts, err := f.tx.CountFrames(project.FrameQuery{Roots: q.Roots, Parent: q.Parent, Archived: q.Roots && f.archived})
	if err != nil {
		return nil, nil, err
	}
	q.Archived, q.Order, q.Limit = f.archived, project.NewestFirst, focusShare
	newest, err := f.tx.FindFrames(q)
	if err != nil {
		return nil, nil, err
	}
	q.Statuses = []core.Status{core.InProgress}
	open, err := f.tx.FindFrames(q)
	if err != nil {
		return nil, nil, err
	}
	shown = f.share(onWay, open, newest)
	if !q.Roots {
		slices.Reverse(shown)
	}
	return shown, without(counts, shown, q), nil
}

// share picks some of the frames of one level: the one on the path, then those in progress,
// then the newest. It returns them newest first. A frame that is on the path at another
// level, as in a cycle, appears only there.
func (f *focus) share(onWay, open, newest []core.Frame) (shown []core.Frame) {
	chosen := map[string]bool{}
	for _, frame := range slices.Concat(onWay, open, newest) {
		elsewhere := slices.ContainsFunc(f.way, func(on core.Frame) bool { return on.ID == frame.ID })
		if len(chosen) == 0 && len(onWay) > 0 || !elsewhere && len(chosen) < focusShare {
			chosen[frame.ID] = true
		}
	}
	// Frames that are not among the newest are older than the newest.
	for _, frame := range slices.Concat(newest, open, onWay) {
		if chosen[frame.ID] {
			shown = append(shown, frame)
			delete(chosen, frame.ID)
		}
	}
	slices.SortStableFunc(shown, func(a, b core.Frame) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
	return shown
}

// without subtracts the frames shown from counts. counts does not include a frame that has a
// parent but appears among the roots.
func without(counts map[core.Status]int, shown []core.Frame, q project.FrameQuery) map[core.Status]int {
	for _, frame := range shown {
		if counts[frame.Status] > 0 && !(q.Roots && frame.Parent != "") {
			counts[frame.Status]--
		}
	}
	maps.DeleteFunc(counts, func(_ core.Status, n int) bool { return n == 0 })
	return counts
}
