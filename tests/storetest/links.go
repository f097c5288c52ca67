package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// Outlined returns the ids of the frames that a query links, in the order of a tree, each after a
// dot for every level.
func Outlined(t *testing.T, kept project.Store, q project.FrameQuery) string {
	var drawn []string
	View(t, kept, func(tx project.Tx) {
		links, err := tx.Links(q)
		require.NoError(t, err)
		for _, place := range outline.Of(links) {
			frames, err := tx.FramesAt([]int64{place.Key})
			require.NoError(t, err)
			require.Contains(t, frames, place.Key)
			drawn = append(drawn, strings.Repeat(".", int(place.Depth))+frames[place.Key].ID)
		}
	})
	return strings.Join(drawn, " ")
}

func links(t *testing.T, kept project.Store) {
	smallTree(t, kept)
	Save(t, kept,
		core.Frame{ID: "gone-1", Parent: "f-r", ArchivedAt: 1, CreatedAt: 100},
		core.Frame{ID: "h-1", Parent: "gone-1", CreatedAt: 101}, core.Frame{ID: "z-2", Parent: "h-1", CreatedAt: 102},
		core.Frame{ID: "y-1", Parent: "h-1", CreatedAt: 102}) // in the same millisecond as the previous one
	for _, tt := range []struct {
		q    project.FrameQuery
		want string
	}{
		{project.FrameQuery{}, "f-r .f-a ..f-d ..f-c .f-b h-1 .z-2 .y-1"},
		{project.FrameQuery{Archived: true}, "g-q f-r .f-a ..f-d ..f-c .f-b .gone-1 ..h-1 ...z-2 ...y-1"},
		{project.FrameQuery{Roots: true}, "f-r"},
		{project.FrameQuery{Roots: true, Archived: true}, "g-q f-r"},
		{project.FrameQuery{Under: "f-a"}, "f-a .f-d .f-c"},
		{project.FrameQuery{Under: "gone-1"}, "h-1 .z-2 .y-1"},
		{project.FrameQuery{Under: "gone-1", Archived: true}, "gone-1 .h-1 ..z-2 ..y-1"},
		{project.FrameQuery{Under: "none"}, ""},
		{project.FrameQuery{Limit: 1}, "f-r"},
	} {
		assert.Equal(t, tt.want, Outlined(t, kept, tt.q), "%+v", tt.q)
	}
	View(t, kept, func(tx project.Tx) {
		frames, err := tx.FramesAt([]int64{-1, 1 << 40})
		require.NoError(t, err)
		assert.Empty(t, frames)
		frames, err = tx.FramesAt(nil)
		require.NoError(t, err)
		assert.Empty(t, frames)
	})
}

func withChildren(t *testing.T, kept project.Store) {
	smallTree(t, kept)
	Save(t, kept, core.Frame{ID: "gone-1", Parent: "f-b", ArchivedAt: 1}, core.Frame{ID: "lost", Parent: "missing"})
	View(t, kept, func(tx project.Tx) {
		found, err := tx.WithChildren([]string{"f-r", "f-a", "f-b", "f-c", "missing", "unheard of", ""})
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"f-r", "f-a", "f-b", "missing"}, found)
		found, err = tx.WithChildren(nil)
		require.NoError(t, err)
		assert.Empty(t, found)
	})
	Update(t, kept, func(tx project.Tx) { // before the requested frames exist
		for range 2 {
			_, err := tx.WithChildren([]string{"late", "missing"})
			require.NoError(t, err)
		}
		none, err := tx.FramesOf([]string{"late", "missing"})
		require.NoError(t, err)
		assert.Empty(t, none)
		for _, id := range []string{"late", "missing"} {
			for _, goal := range []string{"first", "second"} {
				require.NoError(t, tx.SaveFrame(started(core.Frame{ID: id, Goal: goal})))
			}
		}
		there, err := tx.FramesOf([]string{"late", "missing"})
		require.NoError(t, err)
		assert.Len(t, there, 2)
	})
	assert.Empty(t, Found(t, kept, project.FrameQuery{Text: "first"}))
	assert.Equal(t, "missing late", Found(t, kept, project.FrameQuery{Text: "second", Archived: true}))
}

func byID(t *testing.T, kept project.Store) {
	r := rand.New(rand.NewPCG(1, 2))
	var want []string
	for _, i := range r.Perm(50) {
		want = append(want, fmt.Sprintf("f-%02d", i))
		Save(t, kept, core.Frame{ID: want[len(want)-1], CreatedAt: core.Millis(r.IntN(5))})
	}
	slices.Sort(want)
	assert.Equal(t, want, paged(t, kept, project.FrameQuery{Order: project.ByID, Limit: 7}))
	assert.Equal(t, "f-21 f-22", Found(t, kept, project.FrameQuery{Order: project.ByID, After: "f-205", Limit: 2}), "the id need not be there")
}
