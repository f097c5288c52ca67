package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// A model has the contents that a Store should have, kept in the simplest way.
type model struct {
	frames map[string]core.Frame
	keys   map[string]int // the order of the first save of each id
	random *rand.Rand

	cascades  []project.Cascade
	unsettled map[string]bool // frames that only read as invalidated
	moves     bool            // frames change their parents

	reader reader // follows all this
}

func newModel(seed uint64) *model {
	return &model{
		frames: map[string]core.Frame{}, keys: map[string]int{}, unsettled: map[string]bool{},
		random: rand.New(rand.NewPCG(seed, seed)),
	}
}

// randomOperations runs random writes against a Store and a model, and compares
// random queries.
func randomOperations(t *testing.T, kept project.Store) {
	const seed = 20261121
	m := newModel(seed)
	for range 60 {
		Update(t, kept, func(tx project.Tx) {
			for range m.random.IntN(5) + 1 {
				m.write(t, tx)
			}
		})
		for range 10 {
			q := m.query()
			require.Equal(t, m.find(q), Found(t, kept, q), "%+v", q)
		}
	}
}

func (m *model) id() string { return fmt.Sprintf("f-%02d", m.random.IntN(40)) }

func pick[T any](m *model, list ...T) T { return list[m.random.IntN(len(list))] }

func (m *model) write(t *testing.T, tx project.Tx) {
	if m.random.IntN(8) == 0 {
		m.remove(t, tx, m.id())
		return
	}
	m.save(t, tx, m.frame(m.id()))
}

// frame makes up a frame.
func (m *model) frame(id string) core.Frame {
	return core.Frame{
		ID: id, Parent: pick(m, "", m.id(), m.id(), m.id()), Status: pick(m, core.Statuses...),
		Goal:       strings.Join([]string{pick(m, "red", "green"), pick(m, "door", "window")}, " "),
		ArchivedAt: pick(m, core.Millis(0), 0, 0, 1),
		// Distinct times, so that the order does not depend on ties.
		CreatedAt: core.Millis(m.random.Int64N(1 << 40)), UpdatedAt: core.Millis(m.random.Int64N(1 << 40)),
	}
}

// save saves a frame, which a cascade may void at once.
func (m *model) save(t *testing.T, tx project.Tx, f core.Frame) {
	for _, id := range []string{f.ID, f.Parent} {
		if _, known := m.keys[id]; !known && id != "" {
			m.keys[id] = len(m.keys)
		}
	}
	old := m.frames[f.ID]
	if f.Status != old.Status || f.InvalidatedAt != old.InvalidatedAt || f.InvalidationReason != old.InvalidationReason {
		delete(m.unsettled, f.ID)
	}
	m.frames[f.ID] = f
	m.void()
	require.NoError(t, tx.SaveFrame(f))
}

func (m *model) remove(t *testing.T, tx project.Tx, id string) {
	err := tx.DeleteFrame(id)
	for _, f := range m.frames {
		if f.Parent == id {
			require.ErrorIs(t, err, core.ErrInvalid)
			return
		}
	}
	require.NoError(t, err)
	delete(m.frames, id)
	delete(m.unsettled, id)
	m.cascades = slices.DeleteFunc(m.cascades, func(c project.Cascade) bool { return c.Frame == id })
}

func (m *model) query() project.FrameQuery {
	q := project.FrameQuery{
		Archived: pick(m, true, false), Limit: pick(m, 0, 0, 1, 3, 10),
		Order: pick(m, project.OldestFirst, project.NewestFirst, project.RecentFirst),
	}
	switch m.random.IntN(6) {
	case 0:
		q.Parent = m.id()
	case 1:
		q.Roots = true
	case 2:
		q.Under = m.id()
	case 3:
		q.Prefix = pick(m, "f-1", "f-2", "f-31", "x")
	case 4:
		q.Text, q.Order, q.Limit = pick(m, "red", "green door", "blue"), project.RecentFirst, 0
	}
	for range m.random.IntN(3) {
		q.Statuses = append(q.Statuses, pick(m, core.Statuses...))
	}
	return q
}

// find returns the ids that q finds, with a space between.
func (m *model) find(q project.FrameQuery) string {
	var list []core.Frame
	for f := range maps.Values(m.frames) {
		if m.fits(f, q) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b core.Frame) int {
		switch q.Order {
		case project.NewestFirst:
			return cmp.Compare(b.CreatedAt, a.CreatedAt)
		case project.RecentFirst: // frames that one cascade voids change at the same time
			return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(m.keys[b.ID], m.keys[a.ID]))
		}
		return cmp.Compare(a.CreatedAt, b.CreatedAt)
	})
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return idsOf(list)
}

func (m *model) fits(f core.Frame, q project.FrameQuery) bool {
	for _, word := range strings.Fields(q.Text) {
		if !slices.Contains(strings.Fields(f.Goal), word) {
			return false
		}
	}
	return (q.Parent == "" || f.Parent == q.Parent) &&
		(!q.Roots || f.Parent == "") &&
		(q.Under == "" || m.isUnder(f.ID, q.Under)) &&
		strings.HasPrefix(f.ID, q.Prefix) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, f.Status)) &&
		(q.Archived || f.ArchivedAt == 0)
}

// isUnder reports whether id is top or below it.
func (m *model) isUnder(id, top string) bool {
	for seen := map[string]bool{}; !seen[id]; id = m.frames[id].Parent {
		if id == top {
			return true
		}
		seen[id] = true
	}
	return false
}
