package storetest

import (
	"cmp"
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

// A reader knows the tree by the changes since its last look.
type reader struct {
	revision int64
	frames   map[string]core.Frame
}

// look returns the ids of the frames that the reader gets, in order, with a space between.
func (r *reader) look(t *testing.T, tx project.Tx) string {
	changed, err := tx.FramesChangedSince(r.revision)
	require.NoError(t, err)
	if r.revision == 0 {
		r.frames = map[string]core.Frame{}
	}
	for _, f := range changed {
		r.frames[f.ID] = f
	}
	r.revision, _, err = tx.Revision()
	require.NoError(t, err)
	slices.SortFunc(changed, func(a, b core.Frame) int { return cmp.Compare(a.ID, b.ID) })
	return idsOf(changed)
}

// sketch returns a frame without its longer texts.
func sketch(f core.Frame) core.Frame {
	f.PlannedChildren, f.SuccessCriteria, f.Artifacts, f.Decisions, f.Summary, f.Results = nil, "", nil, nil, "", ""
	return f
}

func changed(t *testing.T, kept project.Store) {
	likely := 0.5
	full := core.Frame{
		ID: "f-1", Session: "s", Status: core.Completed, Goal: "goal", SuccessCriteria: "criteria",
		Summary: "summary", Results: "results", Artifacts: []string{"a.go"}, Decisions: []string{"so"}, PlannedChildren: []string{"f-3"},
		Confidence: &likely, LogPath: "log", CreatedAt: 1, StartedAt: 2, EndedAt: 3, UpdatedAt: 4, ArchivedAt: 5,
		Usage: core.Usage{TokensIn: 1, TokensOut: 2, CacheRead: 3, CacheWritten: 4, CostUSD: 0.5, ToolCalls: 6},
	}
	r := &reader{}
	sees := func(want, why string) {
		View(t, kept, func(tx project.Tx) { assert.Equal(t, want, r.look(t, tx), why) })
	}
	sees("", "a project without data is empty")
	Save(t, kept, full, core.Frame{ID: "f-2", Parent: "f-1"}, core.Frame{ID: "f-3", Parent: "f-1", Status: core.Planned})
	sees("f-1 f-2 f-3", "at first these are all, archived ones too")
	assert.Equal(t, sketch(full), r.frames["f-1"])
	sees("", "nothing was written since")

	Save(t, kept, core.Frame{ID: "f-2", Parent: "f-1"})
	sees("f-2", "what is written as it was is told of too")
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.SaveRecord("k", "i", 1)) })
	sees("", "only frames count")
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveFrame(full))
		assert.Equal(t, "f-1", r.look(t, tx), "a transaction sees its own writes")
		require.NoError(t, tx.SaveFrame(started(core.Frame{ID: "f-4"})))
		require.NoError(t, tx.SaveFrame(full))
	})
	sees("f-1 f-4", "each once, and not what was seen before")
	before := r.revision
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.DeleteFrame("f-2")) })
	sees("", "deleted frames are gone")
	assert.Greater(t, r.revision, before)
	View(t, kept, func(tx project.Tx) {
		ids, err := tx.FrameIDs()
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"f-1", "f-3", "f-4"}, ids)
	})

	for _, unknown := range []int64{-1, r.revision + 1, 1 << 60} {
		View(t, kept, func(tx project.Tx) {
			all, err := tx.FramesChangedSince(unknown)
			require.NoError(t, err)
			assert.Len(t, all, 3, "after %d", unknown)
		})
	}
}

// follow has m's reader look, which must then know the frames of m.
func (m *model) follow(t *testing.T, tx project.Tx) {
	m.reader.look(t, tx)
	for id, got := range m.reader.frames {
		if want, there := m.frames[id]; there {
			require.Equal(t, sketch(want), got)
		} else {
			delete(m.reader.frames, id)
		}
	}
	require.Len(t, m.reader.frames, len(m.frames))
}

// Outlined returns the ids of the frames that a query links, in the order of a tree, each after a
// dot for every level.
func Outlined(t *testing.T, kept project.Store, q project.FrameQuery) string {
	var drawn []string
	View(t, kept, func(tx project.Tx) {
		links, err := tx.Links(q)
		require.NoError(t, err)
		for _, place := range outline.Order(links) {
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
