package stack_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

// another is the same project as another process has it, at the same time.
func another(f *projecttest.Fixture) *projecttest.Fixture {
	f.T.Helper()
	kept := store.Open(f.Data, store.Options{})
	f.T.Cleanup(func() { assert.NoError(f.T, kept.Close()) })
	other := *f
	other.Project = &project.Project{
		Store: kept, Log: f.Log, Budget: f.Budget, Subagents: f.Subagents, Autonomy: f.Autonomy, EventDays: f.EventDays,
		Now: func() core.Millis { f.Clock++; return f.Clock }, NewID: project.NewID,
	}
	return &other
}

// plant saves so many frames below each other at random, the first as their root.
// None is planned below one that is invalidated.
func plant(f *projecttest.Fixture, r *rand.Rand, n int) {
	f.T.Helper()
	void := map[string]bool{}
	planted := make([]core.Frame, n)
	for i := range planted {
		at := core.Millis(i)
		frame := core.Frame{ID: idAt(f, i), Goal: fmt.Sprint("part ", i), Status: core.InProgress, CreatedAt: at, UpdatedAt: at}
		if i > 0 {
			frame.Parent = idAt(f, r.IntN(i))
			frame.Status = append(core.Statuses, core.Planned, core.Planned, core.Planned, core.Planned)[r.IntN(10)]
		}
		if frame.Status == core.Planned && void[frame.Parent] {
			frame.Status = core.Blocked
		}
		if frame.Status == core.Invalidated {
			frame.InvalidatedAt, frame.EndedAt = 1, 1
		}
		void[frame.ID] = void[frame.Parent] || frame.Status == core.Invalidated
		planted[i] = frame
	}
	storetest.Save(f.T, f.Store, planted...)
}

func idAt(f *projecttest.Fixture, i int) string { return fmt.Sprintf("plan-p%07d", i) }

// invalidated is the rule: what becomes of all frames when target is invalidated.
func invalidated(before projecttest.Frames, target, reason string, now core.Millis) (after projecttest.Frames, planned, inProgress int) {
	after = projecttest.Frames{}
	children := map[string][]core.Frame{}
	for id, f := range before {
		after[id], children[f.Parent] = f, append(children[f.Parent], f)
	}
	f := before[target]
	_ = f.Invalidate(reason, now) // every status can
	after[target] = f
	for below := range core.Below(target, func(id string) iter.Seq2[core.Frame, error] {
		return func(yield func(core.Frame, error) bool) {
			for _, f := range children[id] {
				if !yield(f, nil) {
					return
				}
			}
		}
	}) {
		if below.Status == core.InProgress {
			inProgress++
		}
		if core.CascadeOf(f).Void(&below) {
			after[below.ID] = below
			planned++
		}
	}
	return after, planned, inProgress
}

// cascades returns those under way.
func cascades(f *projecttest.Fixture) (list []project.Cascade) {
	f.T.Helper()
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) (err error) {
		list, err = tx.Cascades()
		return err
	}))
	return list
}

// toldOnce asserts that each frame that differs from before was told of once as
// invalidated.
func toldOnce(f *projecttest.Fixture, before projecttest.Frames) {
	f.T.Helper()
	told := map[string]int{}
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Kinds: []string{core.FrameInvalidated}})
	require.NoError(f.T, err)
	for _, e := range events {
		told[e.Frame]++
		assert.Equal(f.T, "s", e.Session)
	}
	for id, frame := range f.ByID() {
		want := 0
		if frame.Status != before[id].Status {
			want = 1
		}
		assert.Equal(f.T, want, told[id], "%s is %s and was %s", id, frame.Status, before[id].Status)
	}
}

func TestALargeInvalidationReadsAsDoneFromItsFirstTransaction(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		f := projecttest.New(t)
		plant(f, rand.New(rand.NewPCG(seed, 1)), 300)
		f.Push(projecttest.Host("s"), "elsewhere")
		before, target := f.ByID(), idAt(f, int(seed%2))
		other := another(f)

		transactions, underWay := 0, 0
		var after projecttest.Frames
		var planned, inProgress int
		f.Slow(func() {
			if transactions++; transactions == 1 {
				after, planned, inProgress = invalidated(before, target, "gone", other.ByID()[target].InvalidatedAt)
			}
			underWay += len(cascades(other))
			assert.Equal(t, after, other.ByID())
			stats, err := view.StatsOf(other.Ctx, other.Project)
			require.NoError(t, err)
			assert.Equal(t, projecttest.CountOf(after), stats.Frames)
		})
		done, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), target, "gone")
		require.NoError(t, err)

		assert.Greater(t, underWay, 1, "it took several transactions")
		assert.Equal(t, planned, done.Planned.Count)
		assert.Equal(t, inProgress, done.InProgress.Count)
		assert.Len(t, done.Planned.First, min(planned, 20))
		assert.Len(t, done.InProgress.First, min(inProgress, 20))
		for _, frame := range slices.Concat(done.Planned.First, done.InProgress.First) {
			assert.Equal(t, after[frame.ID], frame)
		}
		assert.Empty(t, cascades(other))
		assert.Equal(t, after, other.ByID(), "nothing changes when all is stored")
		toldOnce(f, before)
	}
}

func TestASmallInvalidationIsOneTransactionInTheOrderOfTheTree(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	top := f.Push(projecttest.Host("s"), "top")
	x, y := f.Plan(projecttest.Host("s"), "", "x")[0], f.Plan(projecttest.Host("s"), "", "y")[0]
	x1, y1 := f.Plan(projecttest.Host("s"), x.ID, "x1")[0], f.Plan(projecttest.Host("s"), y.ID, "y1")[0]
	x2 := f.Plan(projecttest.Host("s"), x.ID, "x2")[0]
	updates := 0
	f.Store = &projecttest.Between{Store: f.Store, After: func() { updates++ }}
	done, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), top.ID, "gone")
	require.NoError(t, err)
	assert.Equal(t, []string{x.ID, y.ID, x1.ID, x2.ID, y1.ID}, projecttest.IDs(done.Planned.First))
	assert.Equal(t, 5, done.Planned.Count)
	assert.Equal(t, 1, updates)
}

// What a process leaves is gone on with by the others, once it has been silent for
// two seconds.
func TestSweepsFinishAnInvalidationThatWasLeft(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	plant(f, rand.New(rand.NewPCG(1, 1)), 300)
	f.Push(projecttest.Host("s"), "elsewhere")
	before := f.ByID()
	ctx, cancel := context.WithCancel(f.Ctx)
	other := another(f)
	f.Slow(cancel)
	_, err := stack.Invalidate(ctx, f.Project, projecttest.Host("s"), idAt(f, 0), "gone")
	require.NoError(t, err, "it holds, whatever becomes of the caller")
	left := cascades(other)
	require.Len(t, left, 1)
	after, _, _ := invalidated(before, idAt(f, 0), "gone", left[0].At)

	require.NoError(t, sweep.Once(other.Ctx, other.Project))
	assert.Equal(t, left, cascades(other), "it may still be going on")
	f.Clock += 2000
	third := another(f)
	rounds := 0
	for ; len(cascades(other)) > 0; rounds++ {
		require.Less(t, rounds, 100)
		sweeper := []*projecttest.Fixture{other, third}[rounds%2]
		sweeper.Slow(func() { assert.Equal(t, after, third.ByID()) })
		require.NoError(t, sweep.Once(other.Ctx, sweeper.Project))
	}
	assert.Greater(t, rounds, 3)
	assert.Equal(t, after, other.ByID())
	toldOnce(f, before)
}

func TestWorkBelowAnInvalidationInProgress(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	top := f.Push(projecttest.Host("s"), "top")
	plans := f.Plan(projecttest.Host("s"), "", slices.Repeat([]string{"part"}, 200)...)
	taken := f.Activate(projecttest.Host("s"), plans[0].ID)
	last := plans[len(plans)-1].ID
	inner := f.Plan(projecttest.Host("s"), last, "inner")[0]
	other := another(f)
	once := true
	f.Slow(func() {
		if !once {
			return
		}
		once = false
		require.NotEmpty(t, cascades(other))
		for _, id := range []string{last, inner.ID} {
			_, err := stack.Activate(f.Ctx, other.Project, projecttest.Host("o"), id, true)
			assert.ErrorIs(t, err, core.ErrInvalid)
			_, err = stack.Plan(f.Ctx, other.Project, projecttest.Host("o"), id, []stack.PlannedChild{{Goal: "more"}})
			assert.ErrorIs(t, err, core.ErrInvalid)
		}
		_, err := stack.Plan(f.Ctx, other.Project, projecttest.Host("o"), taken.ID, []stack.PlannedChild{{Goal: "more"}})
		assert.ErrorIs(t, err, core.ErrInvalid, "nothing is planned below what is invalidated, at any depth")

		_, _, err = stack.AddDecision(f.Ctx, other.Project, projecttest.Host("o"), last, "kept")
		require.NoError(t, err)
		_, err = stack.Push(f.Ctx, other.Project, projecttest.Host("s"), "work goes on", "")
		require.NoError(t, err, "what is in progress goes on")
		done, err := stack.Invalidate(f.Ctx, other.Project, projecttest.Host("o"), inner.ID, "for another reason")
		require.NoError(t, err)
		assert.Equal(t, "for another reason", done.Target.InvalidationReason)
		_, err = stack.Invalidate(f.Ctx, other.Project, projecttest.Host("o"), top.ID, "again")
		require.NoError(t, err)
		assert.Len(t, cascades(other), 1, "nothing is left to invalidate")
	})
	done, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), top.ID, "gone")
	require.NoError(t, err)
	assert.Equal(t, len(plans)-1, done.Planned.Count, "the first was taken up before, one was invalidated by itself meanwhile")
	assert.Empty(t, cascades(f))

	all := f.ByID()
	assert.Equal(t, core.InProgress, all[taken.ID].Status)
	assert.Equal(t, []string{"kept"}, all[last].Decisions)
	assert.Equal(t, "again", all[top.ID].InvalidationReason)
	assert.Equal(t, "for another reason", all[inner.ID].InvalidationReason)
	for _, p := range plans[1:] {
		assert.Equal(t, "parent invalidated: gone", all[p.ID].InvalidationReason)
		others := func(kind string) bool { return kind != core.FrameInvalidated }
		assert.Len(t, slices.DeleteFunc(f.Kinds(p.ID), others), 1)
	}
}

func TestAnImportBelowAnInvalidationInProgressIsInvalidatedToo(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	plant(f, rand.New(rand.NewPCG(2, 1)), 200)
	other := another(f)
	at := 0
	f.Slow(func() {
		if at++; at == 2 {
			require.NoError(t, other.Store.Update(f.Ctx, func(tx project.Tx) error {
				return tx.SaveFrame(core.Frame{ID: "plan-late", Parent: idAt(f, 0), Status: core.Planned})
			}))
			assert.Equal(t, core.Invalidated, other.ByID()["plan-late"].Status)
		}
	})
	_, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), idAt(f, 0), "gone")
	require.NoError(t, err)
	assert.Greater(t, at, 3)
	assert.Equal(t, core.Invalidated, f.ByID()["plan-late"].Status)
	assert.Equal(t, []string{core.FrameInvalidated}, f.Kinds("plan-late"))
}
