package core_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// below gives the children of each frame as a store would.
func below(children map[string][]core.Frame) func(string) ([]core.Frame, error) {
	return func(id string) ([]core.Frame, error) { return children[id], nil }
}

func TestInvalidationCascade(t *testing.T) {
	t.Parallel()
	frame := func(id string, s core.Status) core.Frame { return core.Frame{ID: id, Status: s} }
	x11 := with(frame("x11", core.Planned), func(f *core.Frame) { f.InvalidationReason = "old" })
	c, err := core.InvalidationCascade(frame("t", core.Completed), "why", now, below(map[string][]core.Frame{
		"t":  {frame("x", core.Failed), frame("y", core.Planned)},
		"x":  {frame("x1", core.Planned), frame("x2", core.InProgress), frame("x3", core.Invalidated)},
		"x1": {x11},
		"y":  {frame("y1", core.Planned), frame("t", core.InProgress)}, // a cycle
	}))
	require.NoError(t, err)
	assert.Equal(t, []string{"y", "x1", "x11", "y1"}, idsOf(c.Planned))
	assert.Equal(t, []string{"x2"}, idsOf(c.InProgress))
	assert.Equal(t, "why", c.Target.InvalidationReason)
	assert.Equal(t, now, c.Target.InvalidatedAt)
	for _, f := range c.Planned {
		assert.Equal(t, core.Invalidated, f.Status)
		assert.Equal(t, "parent invalidated: why", f.InvalidationReason, "the same at every depth")
		assert.Equal(t, now, f.UpdatedAt)
	}
}

func TestInvalidationCascadeGivesTheErrorOfTheStore(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := core.InvalidationCascade(core.Frame{ID: "t", Status: core.Planned}, "why", now, func(string) ([]core.Frame, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
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
