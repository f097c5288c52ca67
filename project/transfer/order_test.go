package transfer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestAnyStateIsOrderedParentsFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 6))
		n := r.IntN(30)
		state := State{Frames: map[string]StateFrame{}}
		for i := range n {
			id := fmt.Sprint("f", i)
			parent := []string{"", fmt.Sprint("f", r.IntN(n+2))}[r.IntN(2)]
			state.Frames[id] = StateFrame{Frame: core.Frame{ID: id, Parent: parent, Status: core.Planned, CreatedAt: core.Millis(r.IntN(5))}}
		}
		ordered, repaired, err := orderState(state)
		require.NoError(t, err)
		require.Len(t, ordered, n, "seed %d", seed)
		placed, changed := map[string]bool{"": true}, 0
		for _, f := range ordered {
			require.False(t, placed[f.ID], "seed %d: %s comes twice", seed, f.ID)
			require.True(t, placed[f.Parent], "seed %d: %s comes before its parent", seed, f.ID)
			placed[f.ID] = true
			if f.Parent != state.Frames[f.ID].Parent {
				changed++
			}
		}
		require.Len(t, repaired, changed, "seed %d: what was changed is told", seed)
	}
}

func TestALongChainIsOrderedAtOnce(t *testing.T) {
	t.Parallel()
	const n = 100_000
	state := State{Frames: make(map[string]StateFrame, n)}
	for i := range n {
		id := fmt.Sprint(i)
		// The last is the oldest, so that the way up from it is that of all.
		state.Frames[id] = StateFrame{Frame: core.Frame{ID: id, Parent: fmt.Sprint(i - 1), Status: core.Planned, CreatedAt: core.Millis(n - i)}}
	}
	ordered, repaired, err := orderState(state)
	require.NoError(t, err)
	assert.Len(t, ordered, n)
	assert.Equal(t, []string{"0: its parent -1 is missing; it is a root now"}, repaired)
	assert.Equal(t, fmt.Sprint(n-1), ordered[n-1].ID)
}
