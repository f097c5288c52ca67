// Package view reads a project for people and models: the tree (whole, in outline or
// around the caller's frame), single frames, counts and events.
package view

import (
	"context"

	"flame/core/outline"
	"flame/project"
)

// TreeOf returns the frames of the project, or those under one of them. If they exceed
// the limit it returns the path to the caller's frame with some frames beside it, and
// counts the rest.
func TreeOf(ctx context.Context, p *project.Project, by project.Caller, args TreeArgs) (tree Tree, err error) {
	limit := args.Limit
	if limit == 0 {
		limit = MaxWhole
	}
	err = p.View(ctx, by, func(s *project.Step) error {
		scope, err := scope(s, args)
		if err != nil {
			return err
		}
		current, ok, err := s.Current()
		if err != nil {
			return err
		}
		if ok {
			tree.Current, tree.Usage = current.ID, current.Usage
		}
		if tree.Counts, err = s.Tx.CountFrames(scope); err != nil {
			return err
		}
		whole := project.Total(tree.Counts) <= limit
		if whole {
			whole, err = wholeTree(s, &tree, scope, limit)
		}
		if err == nil && !whole {
			if err = focusedTree(s, &tree, scope); err == nil {
				err = markAgents(s, tree.Lines)
			}
		}
		return err
	})
	return tree, err
}

// wholeTree reads every frame in scope, and reports whether they are within the limit.
// The counts cannot tell: they leave out frames with an unknown status.
func wholeTree(s *project.Step, tree *Tree, scope project.FrameQuery, limit int) (whole bool, err error) {
	scope.Limit = limit + 1
	links, err := s.Tx.Links(scope)
	if err != nil || len(links) > limit {
		return false, err
	}
	revision, _, err := s.Tx.Revision()
	if err != nil {
		return false, err
	}
	tree.Lines, err = linesAt(s, outline.Of(links), revision)
	return true, err
}
