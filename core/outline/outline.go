// Package outline orders frames as a tree and draws it, even if their links are faulty. Time and
// memory are linear in the number of frames.
package outline

import (
	"iter"
	"slices"
)

// A Link says which frame is above another. Frames are numbers here, so that a
// million of them take 16 MB.
type Link struct {
	Key    int64
	Parent int64 // Key of the frame above; 0 for a root
}

// A Fault is why a frame is drawn at the top of a tree although it has a
// parent.
type Fault uint8

// The faults that a link can have.
const (
	NoFault   Fault = iota
	NoParent        // its parent is not among the frames
	OwnParent       // it is its own parent
	InCycle         // it is its own ancestor through others
	TooDeep         // its ancestors were left out
)

// faults describes each Fault.
var faults = [...]string{
	NoParent: "its parent is missing", OwnParent: "it is its own parent", InCycle: "it is its own ancestor",
	TooDeep: "its ancestors are not shown",
}

// String returns the fault in words, empty for NoFault.
func (f Fault) String() string { return faults[f] }

// A Branch is the shape of one line of a drawn tree.
type Branch struct {
	Depth int32 // number of frames above
	Last  bool  // no later line has the same parent
	Leaf  bool  // nothing is below it
	Fault Fault // why it is at the top; such lines have Depth 0
}

// A Position is the position of a frame in a drawn tree.
type Position struct {
	Key int64
	Branch
}

// Order returns the order in which a forest is drawn: depth first, children
// in the order of their links, roots in the opposite order, so that the newest
// come first. Links must come in the order in which their frames were made, at
// least those with the same parent.
//
// Each Key gets one place, even if links are faulty. Frames with a missing
// parent and all members of a cycle are at the top, after the roots, with their
// Fault. If a Key repeats, its first link counts. Time and memory are linear in
// the number of links.
func Order(links []Link) []Position {
	f := newForest(links)
	places := make([]Position, 0, len(f.above))
	for i := range f.tops() {
		places = f.appendTree(places, links, i)
	}
	return places
}

// A forest holds links by their index. The index none means no frame.
type forest struct {
	above []int32 // the frame above; none at the top, skipped for a repeated link
	fault []Fault
	first []int32 // the first child
	next  []int32 // the next frame with the same parent
}

const (
	none    int32 = -1
	skipped int32 = -2
)

func newForest(links []Link) *forest {
	n := len(links)
	f := &forest{above: make([]int32, n), fault: make([]Fault, n)}
	f.link(links)
	f.cutCycles()
	f.first, f.next = slices.Repeat([]int32{none}, n), slices.Repeat([]int32{none}, n)
	for i := n - 1; i >= 0; i-- {
		if up := f.above[i]; up >= 0 {
			f.next[i], f.first[up] = f.first[up], int32(i)
		}
	}
	return f
}

// link finds the frame above each one.
func (f *forest) link(links []Link) {
	index := make(map[int64]int32, len(links))
	for i, l := range links {
		if _, repeated := index[l.Key]; repeated {
			f.above[i] = skipped
			continue
		}
		index[l.Key] = int32(i)
	}
	for i, l := range links {
		if f.above[i] == skipped {
			continue
		}
		up, known := index[l.Parent]
		switch {
		case l.Parent == 0:
			f.above[i] = none
		case l.Parent == l.Key:
			f.above[i], f.fault[i] = none, OwnParent
		case !known:
			f.above[i], f.fault[i] = none, NoParent
		default:
			f.above[i] = up
		}
	}
}

// cutCycles moves each member of a cycle to the top. Each frame is visited
// once: a walk upwards that meets itself has found a cycle.
func (f *forest) cutCycles() {
	walks := make([]int32, len(f.above)) // the first walk that visited it, counted from 1
	for i := range f.above {
		walk, at := int32(i+1), int32(i)
		for at >= 0 && walks[at] == 0 {
			walks[at] = walk
			at = f.above[at]
		}
		for at >= 0 && walks[at] == walk && f.fault[at] != InCycle {
			up := f.above[at]
			f.above[at], f.fault[at] = none, InCycle
			at = up
		}
	}
}

// tops yields the frames at the top: roots, then frames with a fault, each from
// last to first.
func (f *forest) tops() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, faulty := range []bool{false, true} {
			for i := len(f.above) - 1; i >= 0; i-- {
				if f.above[i] == none && (f.fault[i] != NoFault) == faulty && !yield(int32(i)) {
					return
				}
			}
		}
	}
}

// appendTree appends the frame at index top and everything below it.
func (f *forest) appendTree(places []Position, links []Link, top int32) []Position {
	depth := int32(0)
	for at := top; ; {
		places = append(places, Position{links[at].Key, Branch{depth, f.next[at] == none, f.first[at] == none, f.fault[at]}})
		if f.first[at] != none {
			at, depth = f.first[at], depth+1
			continue
		}
		for at != top && f.next[at] == none {
			at, depth = f.above[at], depth-1
		}
		if at == top {
			return places
		}
		at = f.next[at]
	}
}
