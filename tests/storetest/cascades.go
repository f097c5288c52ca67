package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// randomCascades begins, continues and ends cascades between random writes. Reads must always look
// as if each cascade had been done at its beginning. Either several overlap, or frames move into
// one and in cycles.
func randomCascades(t *testing.T, kept project.Store) {
	for seed := range uint64(2) {
		m := newModel(seed)
		m.moves = seed%2 == 0
		m.clear(t, kept)
		for round := range 20 {
			Update(t, kept, func(tx project.Tx) {
				for range m.random.IntN(8) + 1 {
					m.cascadeOrWrite(t, tx)
				}
				m.check(t, tx, fmt.Sprintf("seed %d, round %d, inside", seed, round))
			})
			View(t, kept, func(tx project.Tx) {
				m.check(t, tx, fmt.Sprintf("seed %d, round %d", seed, round))
				m.follow(t, tx, fmt.Sprintf("seed %d, round %d", seed, round))
			})
		}
		Update(t, kept, func(tx project.Tx) {
			for len(m.cascades) > 0 {
				m.settle(t, tx)
			}
			m.check(t, tx, "at the end")
			m.follow(t, tx, "at the end")
			assert.Empty(t, m.unsettled, "every frame that was invalidated is told of once")
		})
	}
}

// clear removes everything of the previous model.
func (m *model) clear(t *testing.T, kept project.Store) {
	Update(t, kept, func(tx project.Tx) {
		cascades, err := tx.Cascades()
		require.NoError(t, err)
		assert.Empty(t, cascades)
		frames, err := tx.FindFrames(project.FrameQuery{Archived: true})
		require.NoError(t, err)
		for _, f := range frames { // their keys stay the same
			f.Parent = ""
			require.NoError(t, tx.SaveFrame(f))
		}
		for _, f := range frames {
			require.NoError(t, tx.DeleteFrame(f.ID))
		}
	})
	for i := range 40 {
		m.keys[fmt.Sprintf("f-%02d", i)] = i
	}
	Update(t, kept, func(tx project.Tx) {
		for i := range 40 {
			id := fmt.Sprintf("f-%02d", i)
			require.NoError(t, tx.SaveFrame(core.Frame{ID: id, Status: core.Planned}))
			require.NoError(t, tx.DeleteFrame(id))
		}
	})
}

func (m *model) cascadeOrWrite(t *testing.T, tx project.Tx) {
	id := m.id()
	f, there := m.frames[id]
	switch m.random.IntN(16) {
	case 0:
		if there && !(m.moves && len(m.cascades) > 0) {
			m.begin(t, tx, m.high(id))
		}
	case 1:
		m.settle(t, tx)
	case 2, 3, 4:
		if there { // read, changed in part and written
			f.Goal, f.ArchivedAt = pick(m, "red door", "green window"), pick(m, 0, core.Millis(1))
			m.save(t, tx, f)
		}
	case 5:
		m.remove(t, tx, id)
	default:
		f := m.frame(id)
		f.Status = pick(m, f.Status, core.Planned, core.Planned)
		if old := m.frames[id]; there && !(m.moves && m.leaves(old)) {
			f.Parent = old.Parent
		} else if _, known := m.frames[f.Parent]; !known {
			f.Parent = ""
		}
		m.save(t, tx, f)
	}
}

// leaves reports whether a frame may move away: not from below a cascade's frame.
func (m *model) leaves(f core.Frame) bool {
	return !slices.ContainsFunc(m.cascades, func(c project.Cascade) bool { return m.isUnder(f.ID, c.Frame) })
}

// high returns a frame some levels above.
func (m *model) high(id string) string {
	for range m.random.IntN(4) {
		if above := m.frames[id].Parent; above != "" {
			id = above
		}
	}
	return id
}

// begin begins a cascade below a frame, which takes effect at once.
func (m *model) begin(t *testing.T, tx project.Tx, id string) {
	c := project.Cascade{Frame: id, Cascade: core.Cascade{
		Reason: fmt.Sprintf("reason %d", m.random.IntN(3)), At: core.Millis(m.random.Int64N(1 << 40)),
	}}
	require.NoError(t, tx.BeginCascade(c))
	if !slices.ContainsFunc(m.cascades, func(other project.Cascade) bool { return other.Frame == id }) {
		m.cascades = append(m.cascades, c)
	}
	m.void()
}

// void voids all planned frames below the frames of cascades.
func (m *model) void() {
	for _, c := range m.cascades {
		for id, f := range m.frames {
			if f.Parent != "" && m.isUnder(f.Parent, c.Frame) && c.Void(&f) {
				m.frames[id], m.unsettled[id] = f, true
			}
		}
	}
}

// settle continues one cascade and ends it when nothing is left.
func (m *model) settle(t *testing.T, tx project.Tx) {
	all, err := tx.Cascades()
	require.NoError(t, err)
	if len(all) == 0 {
		assert.Empty(t, m.cascades)
		return
	}
	c := pick(m, all...)
	limit := m.random.IntN(2) + 1
	ids, more, err := tx.Settle(c.Frame, core.Event{Event: core.FrameInvalidated}, limit)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(ids), limit)
	for _, id := range ids {
		assert.True(t, m.unsettled[id], "%s is told of once", id)
		delete(m.unsettled, id)
		assert.Equal(t, core.Invalidated, m.frames[id].Status)
		assert.Equal(t, c.Reason, m.frames[id].InvalidationReason)
	}
	if more {
		return
	}
	require.NoError(t, tx.EndCascade(c.Frame))
	m.cascades = slices.DeleteFunc(m.cascades, func(other project.Cascade) bool { return other.Frame == c.Frame })
}

// check compares reads with the model.
func (m *model) check(t *testing.T, tx project.Tx, when string) {
	for range 10 {
		q := m.query()
		got, err := tx.FindFrames(q)
		require.NoError(t, err)
		require.Equal(t, m.find(q), idsOf(got), "%s: %+v", when, q)
		m.same(t, when, got...)
		counts, err := tx.CountFrames(q)
		require.NoError(t, err)
		require.Equal(t, m.count(q), counts, "%s: %+v", when, q)
	}
	for id := range m.frames {
		f, err := tx.Frame(id)
		require.NoError(t, err)
		above, err := tx.Ancestors(id, m.random.IntN(3))
		require.NoError(t, err)
		m.same(t, when, append(above, f)...)
		children, err := project.CountChildren(tx, id)
		require.NoError(t, err)
		require.Equal(t, m.count(project.FrameQuery{Parent: id}), children, "%s: children of %s", when, id)
	}
}

func (m *model) same(t *testing.T, when string, frames ...core.Frame) {
	for _, f := range frames {
		require.Equal(t, m.frames[f.ID], f, when)
	}
}

func (m *model) count(q project.FrameQuery) map[core.Status]int {
	counts := map[core.Status]int{}
	for _, f := range m.frames {
		if m.fits(f, q) {
			counts[f.Status]++
		}
	}
	return counts
}

var gone = project.Cascade{Frame: "top", Cascade: core.Cascade{Reason: "gone", At: 7}}

// settleOnce continues the cascade of a frame. It returns the settled ids, with a space between,
// and reports whether there may be more.
func settleOnce(t *testing.T, kept project.Store, frame string, limit int) (ids string, more bool) {
	t.Helper()
	Update(t, kept, func(tx project.Tx) {
		settled, left, err := tx.Settle(frame, core.Event{Event: core.FrameInvalidated}, limit)
		require.NoError(t, err)
		ids, more = strings.Join(settled, " "), left
	})
	return ids, more
}

func voided(t *testing.T, kept project.Store) string {
	t.Helper()
	return Found(t, kept, project.FrameQuery{Statuses: []core.Status{core.Invalidated}})
}

func movedBelow(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "mover"}, core.Frame{ID: "p-1", Parent: "mover", Status: core.Planned},
		core.Frame{ID: "top"}, core.Frame{ID: "p-2", Parent: "top", Status: core.Planned},
		core.Frame{ID: "p-3", Parent: "top", Status: core.Planned})
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.BeginCascade(gone)) })
	ids, more := settleOnce(t, kept, "top", 1)
	assert.Empty(t, ids, "the cascade sees the moved frame, and skips it")
	assert.True(t, more)
	ids, more = settleOnce(t, kept, "top", 1)
	assert.Equal(t, "p-2", ids)
	assert.True(t, more)
	assert.Equal(t, "p-2 p-3", voided(t, kept))
	Save(t, kept, core.Frame{ID: "mover", Parent: "top"})
	assert.Equal(t, "p-1 p-2 p-3", voided(t, kept))
	for more {
		_, more = settleOnce(t, kept, "top", 1)
	}
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.EndCascade("top")) })
	assert.Equal(t, "p-1 p-2 p-3", voided(t, kept))
}

func cascadeInCycle(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "a", Parent: "b"}, core.Frame{ID: "b", Parent: "top"}, core.Frame{ID: "top", Parent: "a"},
		core.Frame{ID: "p-a", Parent: "a", Status: core.Planned}, core.Frame{ID: "p-b", Parent: "b", Status: core.Planned},
		core.Frame{ID: "p-t", Parent: "top", Status: core.Planned})
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.BeginCascade(gone)) })
	for _, ids := range [][]string{{"p-a", "p-b", "p-t"}, {"p-t", "p-b", "p-a"}} {
		View(t, kept, func(tx project.Tx) {
			for _, id := range ids {
				f, err := tx.Frame(id)
				require.NoError(t, err)
				assert.Equal(t, core.Invalidated, f.Status, "%s of %s", id, ids)
			}
		})
	}
	assert.Equal(t, "p-a p-b p-t", voided(t, kept))
	ids, more := settleOnce(t, kept, "top", 10)
	assert.Len(t, strings.Fields(ids), 3)
	assert.False(t, more)
}

func cascadeOfDeleted(t *testing.T, kept project.Store) {
	Save(t, kept, core.Frame{ID: "top"})
	Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.BeginCascade(gone))
		require.NoError(t, tx.DeleteFrame("top"))
	})
	Save(t, kept, core.Frame{ID: "top"}, core.Frame{ID: "p-1", Parent: "top", Status: core.Planned})
	assert.Empty(t, voided(t, kept))
	_, more := settleOnce(t, kept, "top", 1)
	assert.False(t, more)
}

func openBelow(t *testing.T, kept project.Store) {
	const frames = 700
	var want []string
	Update(t, kept, func(tx project.Tx) {
		for _, root := range []string{"f-a", "f-b"} {
			require.NoError(t, tx.SaveFrame(core.Frame{ID: root, Status: core.Invalidated}))
		}
		for i := range frames {
			f := core.Frame{ID: fmt.Sprintf("f-%03d", i), Parent: "f-a", Status: core.InProgress}
			f.UpdatedAt, f.ArchivedAt = core.Millis(i/3), core.Millis(i%2)
			switch {
			case i%5 == 0:
				f.Parent = "f-b"
			case i%7 == 0:
				f.Status = core.Completed
			case i > 100:
				f.Parent = "f-007" // completed, below f-a
				fallthrough
			default:
				want = append(want, f.ID)
			}
			require.NoError(t, tx.SaveFrame(f))
		}
	})
	var got []string
	pages := 0
	for from, more := "", true; more; more = from != "" {
		View(t, kept, func(tx project.Tx) {
			ids, next, err := tx.OpenBelow("f-a", from)
			require.NoError(t, err)
			got, from = append(got, ids...), next
		})
		pages++
	}
	assert.ElementsMatch(t, want, got)
	assert.Greater(t, pages, 1)
	assert.Less(t, pages, 20)
}
