package core

import (
	"iter"
	"slices"
)

// cascadeReason begins the reason of a frame that was invalidated because one
// above it was.
const cascadeReason = "parent invalidated: "

// A Cascade is what the invalidation of a frame means for all frames below it.
type Cascade struct {
	Reason string // of the frames that are invalidated with it, the same at every depth
	At     Millis // when it takes effect
}

// CascadeOf returns the cascade of a frame that was invalidated just now.
func CascadeOf(target Frame) Cascade {
	return Cascade{Reason: cascadeReason + target.InvalidationReason, At: target.InvalidatedAt}
}

// Void invalidates f, a frame below the target at any depth, if it is planned, and
// reports whether it was. Frames in progress go on, though their workers should be
// warned, and ended ones stay as they are (spec: frames §5).
func (c Cascade) Void(f *Frame) bool {
	return f.Status == Planned && f.Invalidate(c.Reason, c.At) == nil
}

// Below yields every frame below top once, through frames of every status: the
// children first, then all below the first of them, then all below the second, and
// so on (spec: frames §5). A cycle in the tree is walked once. It ends with the
// first error of children.
func Below(top string, children func(id string) iter.Seq2[Frame, error]) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		met := map[string]bool{top: true}
		for todo := []string{top}; len(todo) > 0; {
			last := len(todo) - 1
			parent := todo[last]
			todo = todo[:last]
			for f, err := range children(parent) {
				if err != nil {
					yield(Frame{}, err)
					return
				}
				if met[f.ID] {
					continue
				}
				met[f.ID] = true
				todo = append(todo, f.ID)
				if !yield(f, nil) {
					return
				}
			}
			slices.Reverse(todo[last:]) // the last one is taken first
		}
	}
}

// NearestOpen returns the id of the frame that work goes on in: current if that is
// in progress, else the nearest of its ancestors that is, else none.
func NearestOpen(current Frame, ancestorsParentFirst []Frame) (id string) {
	if current.Status == InProgress {
		return current.ID
	}
	for _, f := range ancestorsParentFirst {
		if f.Status == InProgress {
			return f.ID
		}
	}
	return ""
}
