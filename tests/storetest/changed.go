package storetest

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
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
