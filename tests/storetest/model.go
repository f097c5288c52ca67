package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// A model has the contents that a Store should have, kept in the simplest way.
type model struct {
	frames map[string]core.Frame
	keys   map[string]int // the order of the first save of each id
	random *rand.Rand
	reader reader // follows all this
}

// randomOperations runs random writes against a Store and a model, and compares the results of
// random queries.
func randomOperations(t *testing.T, kept project.Store) {
	const seed = 20261121
	m := &model{frames: map[string]core.Frame{}, keys: map[string]int{}, random: rand.New(rand.NewPCG(seed, seed))}
	for range 60 {
		Update(t, kept, func(tx project.Tx) {
			for range m.random.IntN(5) + 1 {
				m.write(t, tx)
			}
			m.check(t, tx)
		})
		View(t, kept, func(tx project.Tx) {
			m.check(t, tx)
			m.follow(t, tx)
		})
	}
}

// check compares reads with the model.
func (m *model) check(t *testing.T, tx project.Tx) {
	for range 10 {
		q := m.query()
		got, err := tx.FindFrames(q)
		require.NoError(t, err)
		require.Equal(t, idsOf(m.find(q)), idsOf(got), "%+v", q)
		for _, f := range got {
			require.Equal(t, m.frames[f.ID], f)
		}
		counts, err := tx.CountFrames(q)
		require.NoError(t, err)
		q.Limit = 0
		require.Equal(t, lo.CountValuesBy(m.find(q), func(f core.Frame) core.Status { return f.Status }), counts, "%+v", q)
	}
}

func (m *model) id() string { return fmt.Sprintf("f-%02d", m.random.IntN(40)) }

func pick[T any](m *model, list ...T) T { return list[m.random.IntN(len(list))] }

func (m *model) write(t *testing.T, tx project.Tx) {
	switch m.random.IntN(16) {
	case 0:
		m.invalidate(t, tx, m.id())
	case 1, 2:
		m.remove(t, tx, m.id())
	default:
		m.save(t, tx, m.frame(m.id()))
	}
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

func (m *model) save(t *testing.T, tx project.Tx, f core.Frame) {
	for _, id := range []string{f.ID, f.Parent} {
		if _, known := m.keys[id]; !known && id != "" {
			m.keys[id] = len(m.keys)
		}
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

// invalidate invalidates the frames below one.
func (m *model) invalidate(t *testing.T, tx project.Tx, top string) {
	c := core.Cascade{Reason: "reason", At: core.Millis(m.random.Int64N(1 << 40))}
	var planned, inProgress []string
	for f := range core.Descendants(top, func(f core.Frame) string { return f.ID }, func(id string) []core.Frame {
		return m.find(project.FrameQuery{Parent: id, Archived: true})
	}) {
		if f.Status == core.InProgress {
			inProgress = append(inProgress, f.ID)
		}
		if c.Invalidate(&f) {
			m.frames[f.ID] = f
			planned = append(planned, f.ID)
		}
	}
	below, err := tx.InvalidateBelow(top, c, core.Event{Event: core.FrameInvalidated, TS: c.At})
	require.NoError(t, err)
	idsAt := func(keys []int64) (ids []string) {
		frames, err := tx.FramesAt(keys)
		require.NoError(t, err)
		for _, key := range keys {
			ids = append(ids, frames[key].ID)
		}
		return ids
	}
	require.Equal(t, planned, idsAt(below.Planned))
	require.Equal(t, inProgress, idsAt(below.InProgress))
	events, err := tx.FindEvents(project.EventQuery{Since: c.At})
	require.NoError(t, err)
	events = slices.DeleteFunc(events, func(e core.Event) bool { return e.TS != c.At })
	require.Equal(t, len(planned), len(events))
	for i, e := range events {
		require.Equal(t, planned[i], e.Frame)
	}
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
	if m.random.IntN(6) == 0 {
		q.Goal = pick(m, "red", "Green Door", "BLUE")
	}
	for range m.random.IntN(3) {
		q.Statuses = append(q.Statuses, pick(m, core.Statuses...))
	}
	return q
}

// find returns the frames that q finds.
func (m *model) find(q project.FrameQuery) (list []core.Frame) {
	for f := range maps.Values(m.frames) {
		if m.fits(f, q) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b core.Frame) int {
		switch q.Order {
		case project.NewestFirst:
			return cmp.Compare(b.CreatedAt, a.CreatedAt)
		case project.RecentFirst: // frames that are invalidated together change at the same time
			return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(m.keys[b.ID], m.keys[a.ID]))
		}
		return cmp.Compare(a.CreatedAt, b.CreatedAt)
	})
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list
}

func (m *model) fits(f core.Frame, q project.FrameQuery) bool {
	for _, word := range strings.Fields(q.Text) {
		if !slices.Contains(strings.Fields(f.Goal), word) {
			return false
		}
	}
	return (q.Parent == "" || f.Parent == q.Parent) &&
		(!q.Roots || f.Parent == "") &&
		(q.Goal == "" || strings.EqualFold(q.Goal, f.Goal)) &&
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
