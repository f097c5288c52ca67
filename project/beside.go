package project

import "flame/core"

// maxCandidates is how many children, and how many siblings, are weighed for a context,
// those that changed last first: more than the usual budgets admit, few enough to keep
// its cost flat however large the tree is.
const maxCandidates = 20

// beside returns the finished frames with the same parent, at most limit of those
// that changed last.
func (s *step) beside(frame core.Frame, limit int) ([]core.Frame, error) {
	found, err := s.finished(FrameQuery{Parent: frame.Parent, Roots: frame.Parent == "", Limit: limit})
	if err != nil {
		return nil, err
	}
	others := found[:0]
	for _, f := range found {
		if f.ID != frame.ID {
			others = append(others, f)
		}
	}
	return others, nil
}

func (s *step) finished(q FrameQuery) ([]core.Frame, error) {
	q.Statuses = []core.Status{core.Completed, core.Failed, core.Blocked}
	q.Order = RecentFirst
	return s.FindFrames(q)
}
