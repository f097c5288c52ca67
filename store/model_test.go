package store_test

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

// A model is what a Store should hold, kept in the simplest way.
type model struct {
	frames map[string]core.Frame
	random *rand.Rand
}

// randomOperations runs random writes against a Store and a model, and compares
// random queries.
func randomOperations(t *testing.T, kept project.Store) {
	const seed = 20261121
	m := &model{frames: map[string]core.Frame{}, random: rand.New(rand.NewPCG(seed, seed))}
	for range 60 {
		update(t, kept, func(tx project.Tx) {
			for range m.random.IntN(5) + 1 {
				m.write(t, tx)
			}
		})
		for range 10 {
			q := m.query()
			require.Equal(t, m.find(q), found(t, kept, q), "%+v", q)
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
	f := core.Frame{
		ID: m.id(), Parent: pick(m, "", m.id(), m.id(), m.id()), Status: pick(m, core.Statuses...),
		Goal:       strings.Join([]string{pick(m, "red", "green"), pick(m, "door", "window")}, " "),
		ArchivedAt: pick(m, core.Millis(0), 0, 0, 1),
		// Distinct times, so that order does not hang on how ties are broken.
		CreatedAt: core.Millis(m.random.Int64N(1 << 40)), UpdatedAt: core.Millis(m.random.Int64N(1 << 40)),
	}
	m.frames[f.ID] = f
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

// find gives the ids that q finds, with a space between.
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
		case project.RecentFirst:
			return cmp.Compare(b.UpdatedAt, a.UpdatedAt)
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
