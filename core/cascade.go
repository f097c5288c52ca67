package core

import (
	"iter"
	"slices"
	"strings"

	"github.com/samber/lo"
)

// cascadeReason begins the reason of a frame that was invalidated with an
// ancestor.
const cascadeReason = "parent invalidated: "

// A Cascade is the effect of invalidating a frame on all frames below it.
type Cascade struct {
	Reason string // for the frames below that are invalidated too, the same at every depth
	At     Millis // when it takes effect
}

// CascadeOf returns the cascade of a frame that has been invalidated, perhaps itself by a cascade.
func CascadeOf(target Frame) Cascade {
	return Cascade{Reason: cascadeReason + strings.TrimPrefix(target.InvalidationReason, cascadeReason), At: target.InvalidatedAt}
}

// Invalidate invalidates f, a frame at any depth below the target, if it is planned,
// and reports whether it was. Frames in progress continue, though their workers
// should be warned; ended ones stay as they are.
func (c Cascade) Invalidate(f *Frame) bool {
	return f.Status == Planned && f.Invalidate(c.Reason, c.At) == nil
}

// Descendants yields every frame below top once, whatever the status of the frames
// between: the children first, then everything below the first child, then
// below the second, and so on. It walks a cycle in the tree
// once.
func Descendants[F any, K comparable](top K, key func(F) K, children func(K) []F) iter.Seq[F] {
	return func(yield func(F) bool) {
		met := map[K]bool{top: true}
		for todo := []K{top}; len(todo) > 0; {
			last := len(todo) - 1
			parent := todo[last]
			todo = todo[:last]
			for _, f := range children(parent) {
				key := key(f)
				if met[key] {
					continue
				}
				met[key] = true
				todo = append(todo, key)
				if !yield(f) {
					return
				}
			}
			slices.Reverse(todo[last:]) // so that the first child is popped first
		}
	}
}

// NearestOpen returns the id of the frame in which work continues: current if it is in
// progress on this machine, else the nearest ancestor that is, else "".
func NearestOpen(current Frame, ancestorsParentFirst []Frame) (id string) {
	open, _ := lo.Find(append([]Frame{current}, ancestorsParentFirst...), Frame.IsOpen)
	return open.ID
}
