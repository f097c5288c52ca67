package stack

import (
	"slices"

	"flame/core"
	"flame/project"
)

// MaxCandidates is how many children, and how many siblings, are considered for a
// context, the latest change first: more than the usual budgets admit, few enough to
// keep its cost flat however large the tree is.
const MaxCandidates = 20

// beside returns the finished siblings of a frame, the latest change first.
func beside(s *project.Step, frame core.Frame) ([]core.Frame, error) {
	found, err := s.Tx.FindFrames(project.FrameQuery{
		Parent: frame.Parent, Roots: frame.Parent == "", Order: project.RecentFirst, Limit: MaxCandidates,
		Statuses: []core.Status{core.Completed, core.Failed, core.Blocked},
	})
	return slices.DeleteFunc(found, func(f core.Frame) bool { return f.ID == frame.ID }), err
}
