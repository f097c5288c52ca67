package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/summaries"
	"flame/project"
)

// surroundings compares Surroundings of every frame of random trees, in which frames may also lie
// below themselves or below missing ones, with the results of Ancestors and FindFrames.
func surroundings(t *testing.T, kept project.Store) {
	random := rand.New(rand.NewPCG(1, 2))
	const frames = 80
	id := func(n int) string { return fmt.Sprintf("f-%03d", n) }
	Update(t, kept, func(tx project.Tx) {
		for i := range frames {
			f := core.Frame{
				ID: id(i), Status: core.Statuses[random.IntN(len(core.Statuses))], Session: "s", Goal: "goal", SuccessCriteria: "criteria",
				Summary: "summary", LogPath: "log", Artifacts: []string{"a", "b"}, Decisions: []string{"c \"d\""},
				CreatedAt: core.Millis(random.IntN(50)), UpdatedAt: core.Millis(random.IntN(50)),
			}
			if i%7 > 0 {
				f.Parent = id(random.IntN(frames/6 + 1))
			}
			if i%9 == 0 {
				f.ArchivedAt = 1
			}
			require.NoError(t, tx.SaveFrame(f))
		}
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "orphan", Parent: "gone", Status: core.Failed}))
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "other orphan", Parent: "gone", Status: core.Completed}))
	})
	for _, most := range []project.RelativesLimit{{Ancestors: 200, Near: 20, Uncles: 5, Tiers: 3}, {Ancestors: 1, Near: 2, Uncles: 2, Tiers: 2}} {
		assertSurroundings(t, kept, most)
	}
}

func assertSurroundings(t *testing.T, kept project.Store, most project.RelativesLimit) {
	View(t, kept, func(tx project.Tx) {
		all, err := tx.FindFrames(project.FrameQuery{Archived: true})
		require.NoError(t, err)
		for _, f := range all {
			got, err := tx.Surroundings(f.ID, most)
			require.NoError(t, err)
			require.Equal(t, around(t, tx, f, most), got, "%s, %+v", f.ID, most)
		}
		none, err := tx.Surroundings("none", most)
		require.NoError(t, err)
		assert.Zero(t, none)
	})
}

// outcomes compares the ended frames below frames with the results of single queries.
func outcomes(t *testing.T, kept project.Store) {
	random := rand.New(rand.NewPCG(3, 4))
	const frames = 200
	id := func(n int) string { return fmt.Sprintf("f-%03d", n) }
	Update(t, kept, func(tx project.Tx) {
		for i := range frames {
			f := core.Frame{
				ID: id(i), Status: core.Statuses[random.IntN(len(core.Statuses))], Goal: "goal", Decisions: slices.Repeat([]string{"d"}, i%2),
				CreatedAt: core.Millis(i), UpdatedAt: core.Millis(random.IntN(50)), ArchivedAt: core.Millis(random.IntN(9) / 8),
			}
			if i%3 == 0 {
				f.Summary = "summary"
			}
			if i%5 > 0 {
				f.Parent = id(random.IntN(frames / 20)) // or below itself
			}
			require.NoError(t, tx.SaveFrame(f))
		}
	})
	View(t, kept, func(tx project.Tx) {
		for i := range frames {
			got, err := tx.Outcomes(project.OutcomeQuery{Below: []string{id(i), "none"}, Each: 6, Limit: 1000})
			require.NoError(t, err)
			want := summaries.EndedByParent{}
			outcomesBelow(t, tx, id(i), summaries.MaxLevels, want)
			require.Len(t, got, len(want), id(i))
			for parent := range want {
				once := map[string]core.Frame{}
				for _, f := range got[parent] {
					once[f.ID] = f
				}
				require.ElementsMatch(t, want[parent], slices.Collect(maps.Values(once)))
			}
		}
		few, err := tx.Outcomes(project.OutcomeQuery{Below: []string{id(0), id(1), id(2)}, Each: 6, Limit: 4})
		require.NoError(t, err)
		for i := range frames {
			got, err := tx.Outcomes(project.OutcomeQuery{Summarized: []string{id(i)}, Each: 6, Limit: 1000})
			require.NoError(t, err)
			q := project.FrameQuery{Parent: id(i), Order: project.RecentFirst}
			deciding := slices.DeleteFunc(find(t, tx, q, 6, core.Completed, core.Failed, core.Blocked), func(f core.Frame) bool { return len(f.Decisions) == 0 })
			require.ElementsMatch(t, deciding, got[id(i)])
		}
		for i := range frames {
			got, err := tx.Outcomes(project.OutcomeQuery{All: id(i), Each: 6, Limit: 5000})
			require.NoError(t, err)
			once := map[string]core.Frame{}
			for _, f := range slices.Concat(slices.Collect(maps.Values(got))...) {
				once[f.ID] = f
			}
			want := map[string]core.Frame{}
			beneath(t, tx, id(i), want)
			require.Equal(t, want, once, id(i))
			first, err := tx.Outcomes(project.OutcomeQuery{All: id(i), Each: 6, Limit: 3})
			require.NoError(t, err)
			require.LessOrEqual(t, len(slices.Concat(slices.Collect(maps.Values(first))...)), 3)
		}
		count := 0
		for _, list := range few {
			count += len(list)
		}
		assert.Positive(t, count)
		assert.LessOrEqual(t, count, 4)
	})
}

// outcomesBelow adds the frames that ended below a frame to all.
func outcomesBelow(t *testing.T, tx project.Tx, parent string, levels int, all summaries.EndedByParent) {
	q := project.FrameQuery{Parent: parent, Order: project.RecentFirst}
	ended := find(t, tx, q, 6, core.Completed, core.Failed, core.Blocked)
	if len(ended) == 0 {
		return
	}
	all[parent] = ended
	for _, f := range ended {
		if f.Summary == "" && levels > 1 {
			outcomesBelow(t, tx, f.ID, levels-1, all)
		}
	}
}

// beneath adds the frames below a frame, the latest of each parent, to all.
func beneath(t *testing.T, tx project.Tx, parent string, all map[string]core.Frame) {
	q := project.FrameQuery{Parent: parent, Order: project.RecentFirst}
	for _, f := range append(find(t, tx, q, 6, core.Completed, core.Failed, core.Blocked), find(t, tx, q, 6, core.Planned, core.InProgress)...) {
		if _, seen := all[f.ID]; !seen {
			all[f.ID] = f
			beneath(t, tx, f.ID, all)
		}
	}
}

// around composes Surroundings of a frame from single queries.
func around(t *testing.T, tx project.Tx, f core.Frame, most project.RelativesLimit) (s core.ContextInput) {
	ended := func(of core.Frame, q project.FrameQuery, limit int) (told []core.Frame) {
		for _, found := range find(t, tx, q, limit, core.Completed, core.Failed, core.Blocked) {
			if found.ID != of.ID {
				told = append(told, found)
			}
		}
		return told
	}
	beside := func(of core.Frame, limit int) []core.Frame {
		return ended(of, project.FrameQuery{Parent: of.Parent, Roots: of.Parent == "", Order: project.RecentFirst}, limit)
	}
	above, err := tx.Ancestors(f.ID, 0)
	require.NoError(t, err)
	s.Ancestors = told(above[:min(len(above), most.Ancestors)])
	s.Children = ended(core.Frame{}, project.FrameQuery{Parent: f.ID, Order: project.RecentFirst}, most.Near)
	s.Siblings = beside(f, most.Near)
	for _, ancestor := range above[:min(len(above), most.Tiers)] {
		if ancestor.Parent != "" {
			s.Uncles = append(s.Uncles, beside(ancestor, most.Uncles)...)
		}
	}
	s.Planned = find(t, tx, project.FrameQuery{Parent: f.ID}, most.Near, core.Planned)
	return s
}

// find returns at most limit frames of these statuses as Surroundings returns them.
func find(t *testing.T, tx project.Tx, q project.FrameQuery, limit int, statuses ...core.Status) []core.Frame {
	q.Limit, q.Statuses = limit, statuses
	frames, err := tx.FindFrames(q)
	require.NoError(t, err)
	return told(frames)
}

// told returns frames as Surroundings returns them.
func told(frames []core.Frame) (list []core.Frame) {
	for _, f := range frames {
		list = append(list, core.Frame{
			ID: f.ID, Parent: f.Parent, Machine: f.Machine, Session: f.Session, Status: f.Status, Goal: f.Goal, SuccessCriteria: f.SuccessCriteria,
			Artifacts: f.Artifacts, Decisions: f.Decisions, Summary: f.Summary, LogPath: f.LogPath,
			CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, ArchivedAt: f.ArchivedAt,
		})
	}
	return list
}
