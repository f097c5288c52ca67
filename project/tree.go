package project

import (
	"context"

	"flame/core"
)

// TreeArgs say which part of the tree to give.
type TreeArgs struct {
	Root     string // only this frame and what lies below it
	Archived bool   // archived frames too
	Limit    int    // a tree of more frames is given in part, the rest counted; 0: all of any tree
}

// A Tree is frames in their order, ready to draw.
type Tree struct {
	Nodes   []core.TreeNode
	More    map[core.Status]int // roots left out
	Current string              // id of the caller's current frame; empty without one
	Counts  map[core.Status]int // of the project, or of Root and what lies below it
	Usage   core.Usage          // of the caller's current frame
}

// Tree gives the frames of the project, or those under one of them. Of a tree
// beyond the limit it gives the way to the caller's frame with what lies beside
// it, and counts the rest.
func (p *Project) Tree(ctx context.Context, by Caller, args TreeArgs) (tree Tree, err error) {
	err = p.view(ctx, by, func(s *step) error {
		scope := FrameQuery{Archived: args.Archived}
		if args.Root != "" {
			root, err := s.resolve(args.Root)
			if err != nil {
				return err
			}
			scope.Under, scope.Archived = root.ID, args.Archived || root.ArchivedAt != 0
		}
		current, ok, err := s.current()
		if err != nil {
			return err
		}
		if ok {
			tree.Current, tree.Usage = current.ID, current.Usage
		}
		if tree.Counts, err = s.CountFrames(scope); err != nil {
			return err
		}
		if args.Limit == 0 || total(tree.Counts) <= args.Limit {
			return s.wholeTree(&tree, scope)
		}
		return s.focusedTree(&tree, scope)
	})
	return tree, err
}

func total(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// wholeTree reads every frame in scope at once and puts each below its parent.
// A frame whose parent is out of scope stands at the top, so none is lost.
func (s *step) wholeTree(tree *Tree, scope FrameQuery) error {
	frames, err := s.FindFrames(scope)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(frames))
	for _, f := range frames {
		known[f.ID] = true
	}
	below := map[string][]core.Frame{}
	for _, f := range frames {
		parent := f.Parent
		if !known[parent] || f.ID == scope.Under {
			parent = ""
		}
		below[parent] = append(below[parent], f)
	}
	var grow func(parent string) []core.TreeNode
	grow = func(parent string) (nodes []core.TreeNode) {
		for _, f := range below[parent] {
			nodes = append(nodes, core.TreeNode{Frame: f, Children: grow(f.ID)})
		}
		return nodes
	}
	tree.Nodes = grow("")
	return nil
}

// focusShare is how many children of each frame on the way a focused tree
// shows: with the usual depths some 60 lines, 8 KB of text.
const focusShare = 10

// focusedTree gives the frames on the way to the caller's and some beside each;
// what is left out below every frame shown is counted.
func (s *step) focusedTree(tree *Tree, scope FrameQuery) error {
	way, err := s.way(tree.Current)
	if err != nil {
		return err
	}
	top := FrameQuery{Roots: true, Archived: scope.Archived}
	if scope.Under != "" {
		root, err := s.Frame(scope.Under)
		if err != nil {
			return err
		}
		way[root.ID] = root
		tree.Nodes = []core.TreeNode{{Frame: root}}
	} else if tree.Nodes, err = s.share(top, way); err != nil {
		return err
	}
	var leaves []*core.TreeNode
	for i := range tree.Nodes {
		if err := s.expand(&tree.Nodes[i], way, scope.Archived, &leaves); err != nil {
			return err
		}
	}
	if scope.Under == "" {
		counts, err := s.CountFrames(top)
		if err != nil {
			return err
		}
		tree.More = without(counts, tree.Nodes)
	}
	return s.countBelow(leaves)
}

// way gives the frame id and all above it.
func (s *step) way(id string) (map[string]core.Frame, error) {
	way := map[string]core.Frame{}
	if id == "" {
		return way, nil
	}
	frame, err := s.Frame(id)
	if err != nil {
		return nil, err
	}
	above, err := s.Ancestors(id, maxAncestors)
	for _, f := range append(above, frame) {
		way[f.ID] = f
	}
	return way, err
}

// share picks what a focused tree shows of one level: the frame on the way,
// then those in progress, then the newest.
func (s *step) share(q FrameQuery, way map[string]core.Frame) ([]core.TreeNode, error) {
	q.Order, q.Limit = NewestFirst, focusShare
	newest, err := s.FindFrames(q)
	if err != nil {
		return nil, err
	}
	q.Statuses = []core.Status{core.InProgress}
	open, err := s.FindFrames(q)
	if err != nil {
		return nil, err
	}
	for _, f := range way {
		if f.Parent == q.Parent {
			open = append([]core.Frame{f}, open...)
		}
	}
	var nodes []core.TreeNode
	taken := map[string]bool{}
	for _, f := range append(open, newest...) {
		if len(nodes) < focusShare && !taken[f.ID] {
			taken[f.ID] = true
			nodes = append(nodes, core.TreeNode{Frame: f})
		}
	}
	return nodes, nil
}

// expand shows what lies below node if it is on the way; other nodes are
// leaves.
func (s *step) expand(node *core.TreeNode, way map[string]core.Frame, archived bool, leaves *[]*core.TreeNode) error {
	*leaves = append(*leaves, node)
	if _, on := way[node.Frame.ID]; !on {
		return nil
	}
	var err error
	if node.Children, err = s.share(FrameQuery{Parent: node.Frame.ID, Archived: archived}, way); err != nil {
		return err
	}
	for i := range node.Children {
		if err := s.expand(&node.Children[i], way, archived, leaves); err != nil {
			return err
		}
	}
	return nil
}

// countBelow counts, for every node shown, the children that are not.
func (s *step) countBelow(nodes []*core.TreeNode) error {
	ids := make([]string, len(nodes))
	for i, node := range nodes {
		ids[i] = node.Frame.ID
	}
	counts, err := s.CountChildren(ids)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		node.More = without(counts[node.Frame.ID], node.Children)
	}
	return nil
}

// without gives what counts holds beyond the nodes shown; nil when nothing.
func without(counts map[core.Status]int, shown []core.TreeNode) (more map[core.Status]int) {
	left := map[core.Status]int{}
	for status, n := range counts {
		left[status] = n
	}
	for _, node := range shown {
		left[node.Frame.Status]--
	}
	for status, n := range left {
		if n > 0 {
			if more == nil {
				more = map[core.Status]int{}
			}
			more[status] = n
		}
	}
	return more
}
