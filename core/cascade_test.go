package core_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func idOf(f core.Frame) string { return f.ID }

// idsBelow lists what Below yields in a tree of children by their parents.
func idsBelow(tree map[string][]core.Frame, top string) (ids []string) {
	for f := range core.Descendants(top, idOf, func(id string) []core.Frame { return tree[id] }) {
		ids = append(ids, f.ID)
	}
	return ids
}

func TestBelowListsChildrenFirstThenSubtreeBySubtree(t *testing.T) {
	t.Parallel()
	frame := func(id string) core.Frame { return core.Frame{ID: id} }
	tree := map[string][]core.Frame{
		"t":  {frame("x"), frame("y"), frame("z")},
		"x":  {frame("x1"), frame("x2")},
		"x1": {frame("x11")},
		"y":  {frame("y1"), frame("t"), frame("x")}, // cycles
		"u":  {frame("u1")},
	}
	assert.Equal(t, []string{"x", "y", "z", "x1", "x2", "x11", "y1"}, idsBelow(tree, "t"))
	assert.Empty(t, idsBelow(tree, "z"))
}

func TestBelowWalksAChainOfAMillion(t *testing.T) {
	t.Parallel()
	const depth = 1_000_000
	at, last := 0, ""
	for f := range core.Descendants("top", idOf, func(string) []core.Frame {
		if at++; at > depth {
			return nil
		}
		return []core.Frame{{ID: strconv.Itoa(at)}}
	}) {
		last = f.ID
	}
	assert.Equal(t, strconv.Itoa(depth), last)
}

func TestACascadeVoidsWhatIsPlanned(t *testing.T) {
	t.Parallel()
	target := core.Frame{ID: "t", Status: core.Completed}
	require.NoError(t, target.Invalidate("why", now))
	cascade := core.CascadeOf(target)
	for _, status := range core.Statuses {
		before := core.Frame{ID: "f", Status: status, UpdatedAt: 1}
		f := before
		if !cascade.Invalidate(&f) {
			assert.NotEqual(t, core.Planned, status)
			assert.Equal(t, before, f)
			continue
		}
		want := core.Frame{
			ID: "f", Status: core.Invalidated, UpdatedAt: now, EndedAt: now,
			InvalidatedAt: now, InvalidationReason: "parent invalidated: why",
		}
		assert.Equal(t, want, f)
		assert.Equal(t, core.Planned, status)
	}
}

func TestNearestOpen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		statuses []core.Status // of the current frame and those above it
		want     string
	}{
		"the current frame stays while in progress":  {[]core.Status{core.InProgress, core.InProgress}, "0"},
		"an ended one hands over to its parent":      {[]core.Status{core.Completed, core.InProgress}, "1"},
		"frames that are not in progress are passed": {[]core.Status{core.Invalidated, core.Blocked, core.Planned, core.InProgress}, "3"},
		"there may be none":                          {[]core.Status{core.Failed, core.Completed}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var frames []core.Frame
			for i, s := range tt.statuses {
				frames = append(frames, core.Frame{ID: string(rune('0' + i)), Status: s})
			}
			assert.Equal(t, tt.want, core.NearestOpen(frames[0], frames[1:]))
		})
	}
}
