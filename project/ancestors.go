package project

import (
	"iter"
	"slices"

	"flame/core"
)

// MaxAncestors is how many frames above one an agent sees, and a person is shown.
const MaxAncestors = 200

// climb is how many ancestors are read at once: more than most trees have levels.
const climb = 50

// above returns the frames above id, parent first, at most MaxLevels of them, in pages
// that are read on demand.
func above(tx Tx, id string) iter.Seq2[[]core.Frame, error] {
	return func(yield func([]core.Frame, error) bool) {
		for range MaxLevels / climb {
			page, err := tx.Ancestors(id, climb)
			if !yield(page, err) || err != nil || len(page) < climb {
				return
			}
			id = page[climb-1].ID
		}
	}
}

// Top returns the topmost frame above a frame; the frame itself if nothing is above it.
func (s *Step) Top(frame core.Frame) (core.Frame, error) {
	if frame.Parent == "" {
		return frame, nil
	}
	for page, err := range above(s.Tx, frame.ID) {
		if err != nil {
			return frame, err
		}
		if len(page) > 0 {
			frame = page[len(page)-1]
		}
	}
	return frame, nil
}

// IsInside reports whether frame id is ancestor or is below it.
func (s *Step) IsInside(id, ancestor string) (bool, error) {
	if id == "" || id == ancestor {
		return id == ancestor && id != "", nil
	}
	for page, err := range above(s.Tx, id) {
		inside := slices.ContainsFunc(page, func(f core.Frame) bool { return f.ID == ancestor })
		if err != nil || inside {
			return inside, err
		}
	}
	return false, nil
}
