package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// TestMoves holds every pair of statuses against the transitions that are allowed.
func TestMoves(t *testing.T) {
	t.Parallel()
	const allowed = `
		planned -> in_progress, planned -> invalidated,
		in_progress -> completed, in_progress -> failed, in_progress -> blocked, in_progress -> invalidated,
		blocked -> in_progress, blocked -> completed, blocked -> failed, blocked -> invalidated,
		completed -> in_progress, completed -> invalidated, failed -> in_progress, failed -> invalidated,
		invalidated -> invalidated,`
	for _, from := range core.Statuses {
		for _, to := range core.Statuses {
			move := string(from) + " -> " + string(to)
			t.Run(move, func(t *testing.T) {
				t.Parallel()
				f := core.Frame{ID: "frame-a", Status: from, StartedAt: 1, EndedAt: 2, UpdatedAt: 3}
				before := f
				err := f.Transition(to, now)
				if strings.Contains(allowed, move+",") {
					require.NoError(t, err)
					assert.Equal(t, to, f.Status)
					assert.Equal(t, now, f.UpdatedAt)
					return
				}
				var problem *core.Problem
				require.ErrorAs(t, err, &problem)
				require.ErrorIs(t, err, core.ErrInvalid)
				assert.NotEmpty(t, problem.Hint)
				assert.Equal(t, before, f, "a refused move changes nothing")
			})
		}
	}
}

func TestMoveKeepsTheTimesOfAFrame(t *testing.T) {
	t.Parallel()
	f := core.Frame{ID: "frame-a", Status: core.Planned}
	require.NoError(t, f.Transition(core.InProgress, 10))
	require.NoError(t, f.Transition(core.Completed, 20))
	assert.Equal(t, []core.Millis{10, 20}, []core.Millis{f.StartedAt, f.EndedAt})
	require.NoError(t, f.Transition(core.InProgress, 30))
	assert.Equal(t, []core.Millis{30, 0}, []core.Millis{f.StartedAt, f.EndedAt}, "reopened")
	require.NoError(t, f.Invalidate("gone", 40))
	require.NoError(t, f.Invalidate("really", 50))
	assert.Equal(t, "really", f.InvalidationReason)
	assert.Equal(t, []core.Millis{50, 50}, []core.Millis{f.InvalidatedAt, f.EndedAt})
}

func TestArtifactsAndDecisionsDoNotRepeat(t *testing.T) {
	t.Parallel()
	var f core.Frame
	assert.True(t, f.AddArtifact("a.go", 1))
	assert.False(t, f.AddArtifact("a.go", 2))
	assert.True(t, f.AddDecision("use a", 3))
	assert.False(t, f.AddDecision("use a", 4))
	assert.Equal(t, []string{"a.go"}, f.Artifacts)
	assert.Equal(t, []string{"use a"}, f.Decisions)
	assert.Equal(t, core.Millis(3), f.UpdatedAt, "a repetition is no change")
}
