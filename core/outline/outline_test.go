package outline_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/outline"
)

// place makes a Place in one line.
func place(key int64, depth int32, last, leaf bool, fault outline.Fault) outline.Position {
	return outline.Position{Key: key, Branch: outline.Branch{Depth: depth, Last: last, Leaf: leaf, Fault: fault}}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	const last, leaf = true, true
	tests := map[string]struct {
		links []outline.Link
		want  []outline.Position
	}{
		"nothing": {nil, []outline.Position{}},
		"roots, the newest first": {
			[]outline.Link{{1, 0}, {2, 0}, {3, 0}},
			[]outline.Position{place(3, 0, last, leaf, 0), place(2, 0, last, leaf, 0), place(1, 0, last, leaf, 0)},
		},
		"children as they were made": {
			[]outline.Link{{1, 0}, {5, 1}, {3, 1}, {4, 5}},
			[]outline.Position{place(1, 0, last, !leaf, 0), place(5, 1, !last, !leaf, 0), place(4, 2, last, leaf, 0), place(3, 1, last, leaf, 0)},
		},
		"a parent that comes later": {
			[]outline.Link{{2, 1}, {1, 0}},
			[]outline.Position{place(1, 0, last, !leaf, 0), place(2, 1, last, leaf, 0)},
		},
		"a missing parent": {
			[]outline.Link{{2, 9}, {3, 2}, {1, 0}},
			[]outline.Position{place(1, 0, last, leaf, 0), place(2, 0, last, !leaf, outline.NoParent), place(3, 1, last, leaf, 0)},
		},
		"its own parent": {
			[]outline.Link{{1, 1}, {2, 1}},
			[]outline.Position{place(1, 0, last, !leaf, outline.OwnParent), place(2, 1, last, leaf, 0)},
		},
		"a cycle with a branch": {
			[]outline.Link{{4, 1}, {1, 3}, {2, 1}, {3, 2}},
			[]outline.Position{
				place(3, 0, last, leaf, outline.InCycle), place(2, 0, last, leaf, outline.InCycle),
				place(1, 0, last, !leaf, outline.InCycle), place(4, 1, last, leaf, 0),
			},
		},
		"a frame that is told twice": {
			[]outline.Link{{1, 0}, {2, 1}, {2, 0}, {1, 2}},
			[]outline.Position{place(1, 0, last, !leaf, 0), place(2, 1, last, leaf, 0)},
		},
		"numbers of any size": {
			[]outline.Link{{-1, 0}, {1 << 62, -1}},
			[]outline.Position{place(-1, 0, last, !leaf, 0), place(1<<62, 1, last, leaf, 0)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, outline.Order(tt.links))
		})
	}
}

// randomLinks makes links without any sense: with missing, own and repeated parents,
// cycles of any length, and keys that come twice.
func randomLinks(r *rand.Rand) []outline.Link {
	n := r.IntN(60)
	links := make([]outline.Link, n)
	for i := range links {
		links[i] = outline.Link{Key: int64(i + 1), Parent: int64(r.IntN(n + 3))}
		if r.IntN(20) == 0 {
			links[i].Key = int64(r.IntN(n) + 1)
		}
	}
	r.Shuffle(n, func(i, j int) { links[i], links[j] = links[j], links[i] })
	return links
}

func TestOutlineOfAnyLinksHasEachFrameOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		links := randomLinks(rand.New(rand.NewPCG(seed, 1)))
		checkOutline(t, links, outline.Order(links))
		require.False(t, t.Failed(), "seed %d: %v", seed, links)
	}
}

// checkOutline asserts what holds of every outline, by other means than Outline's.
func checkOutline(t *testing.T, links []outline.Link, places []outline.Position) {
	t.Helper()
	parents := map[int64]int64{}
	for _, l := range links {
		if _, repeated := parents[l.Key]; !repeated {
			parents[l.Key] = l.Parent
		}
	}
	require.Len(t, places, len(parents), "each frame stands there once")
	seen := map[int64]bool{}
	var way []int64 // from the top to the frame before
	for _, p := range places {
		require.False(t, seen[p.Key], "%d stands there twice", p.Key)
		seen[p.Key] = true
		require.LessOrEqual(t, int(p.Depth), len(way))
		way = way[:p.Depth]
		if p.Depth > 0 {
			assert.Equal(t, way[p.Depth-1], parents[p.Key], "it stands below its parent")
		}
		assert.Equal(t, p.Depth == 0 && parents[p.Key] != 0, p.Fault != outline.NoFault, "only what cannot be has a fault")
		if p.Depth == 0 {
			assert.Equal(t, faultOf(parents, p.Key), p.Fault)
		}
		way = append(way, p.Key)
	}
}

// faultOf finds the fault of a frame by walking up from it.
func faultOf(parents map[int64]int64, key int64) outline.Fault {
	up := parents[key]
	_, known := parents[up]
	switch {
	case up == 0:
		return outline.NoFault
	case up == key:
		return outline.OwnParent
	case !known:
		return outline.NoParent
	}
	for range parents {
		if up == key {
			return outline.InCycle
		}
		up = parents[up]
	}
	return outline.NoFault
}

// shapes are forests of n frames that are hard to walk.
var shapes = map[string]func(i, n int64) outline.Link{
	"a chain":                  func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: i - 1} },
	"a chain, from its end":    func(i, n int64) outline.Link { return outline.Link{Key: n + 1 - i, Parent: n - i} },
	"a star":                   func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: min(i-1, 1)} },
	"roots":                    func(i, n int64) outline.Link { return outline.Link{Key: i} },
	"one cycle":                func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: i%n + 1} },
	"cycles of two":            func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: (i - 1) ^ 1 + 1} },
	"their own parents":        func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: i} },
	"all parents missing":      func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: i + n} },
	"one frame, again":         func(i, n int64) outline.Link { return outline.Link{Key: 1, Parent: i - 1} },
	"a chain into a self loop": func(i, n int64) outline.Link { return outline.Link{Key: i, Parent: max(i-1, 1)} },
}

func TestOutlineOfManyFramesIsQuickAndSmall(t *testing.T) {
	const n = 200_000
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			links := make([]outline.Link, n)
			for i := range links {
				links[i] = shape(int64(i+1), int64(n))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			places := outline.Order(links) // steps that grow with the square of n would not end
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(150*n), "bytes, of which the most is given back")

			keys := make([]int64, len(places))
			for i, p := range places {
				keys[i] = p.Key
			}
			slices.Sort(keys)
			assert.Len(t, slices.Compact(keys), len(places), "each frame once")
			if name != "one frame, again" {
				assert.Len(t, places, n)
			}
			t.Logf("%d MB", (after.TotalAlloc-before.TotalAlloc)>>20)
		})
	}
}
