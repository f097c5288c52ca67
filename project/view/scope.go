package view

import (
	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// TreeArgs say which part of the tree to return.
type TreeArgs struct {
	Root     string // only this frame and those below it
	Archived bool   // archived frames too
	Limit    int    // of a tree with more frames only a part is returned, the rest counted; 0: MaxWhole
}

// MaxWhole is the greatest number of frames held in memory at once: some 50 MB at the
// usual size. Larger trees are read page by page.
const MaxWhole = 20_000

// A Tree is frames in their order, ready to draw.
type Tree struct {
	Lines   []outline.Line
	Current string              // id of the caller's current frame; empty without one
	Counts  map[core.Status]int // of the project, or of Root and the frames below it
	Usage   core.Usage          // of the caller's current frame
}

// scope returns the query for the frames that args ask for.
func scope(s *project.Step, args TreeArgs) (project.FrameQuery, error) {
	if args.Root == "" {
		return project.FrameQuery{Archived: args.Archived}, nil
	}
	root, err := s.Resolve(args.Root)
	return project.FrameQuery{Under: root.ID, Archived: args.Archived || root.ArchivedAt != 0}, err
}
