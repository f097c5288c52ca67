package project

import (
	"slices"

	"flame/core"
)

// maxCandidates is how many children, and how many siblings, are weighed for a context,
// those that changed last first: more than the usual budgets admit, few enough to keep
// its cost flat however large the tree is.
const maxCandidates = 20

// beside returns the finished frames with the same parent that changed last.
func (s *step) beside(frame core.Frame) ([]core.Frame, error) {
	found, err := s.FindFrames(FrameQuery{
		Parent: frame.Parent, Roots: frame.Parent == "", Order: RecentFirst, Limit: maxCandidates,
		Statuses: []core.Status{core.Completed, core.Failed, core.Blocked},
	})
	return slices.DeleteFunc(found, func(f core.Frame) bool { return f.ID == frame.ID }), err
}
