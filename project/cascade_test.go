package project_test

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
	"flame/store/storetest"
	"flame/tests/race"
)

// between is a Store that lets something happen after each Update.
type between struct {
	project.Store
	after func()
}

func (b *between) Update(ctx context.Context, f func(project.Tx) error) error {
	err := b.Store.Update(ctx, f)
	if err == nil && b.after != nil {
		b.after()
	}
	return err
}

// slow lets no transaction do more than it must, and calls after in between.
func (f *fixture) slow(after func()) {
	f.Now = func() core.Millis { f.clock += 100; return f.clock }
	f.Store = &between{f.Store, after}
}

// another is the same project as another process has it, at the same time.
func (f *fixture) another() *fixture {
	f.t.Helper()
	kept := store.Open(f.data, store.Options{})
	f.t.Cleanup(func() { assert.NoError(f.t, kept.Close()) })
	other := *f
	other.Project = &project.Project{
		Store: kept, Log: f.Log, Budget: f.Budget, Subagents: f.Subagents, Autonomy: f.Autonomy, EventDays: f.EventDays,
		Now: func() core.Millis { f.clock++; return f.clock }, NewID: project.NewID,
	}
	return &other
}

// plant saves so many frames below each other at random, the first as their root.
// None is planned below one that is invalidated.
func (f *fixture) plant(r *rand.Rand, n int) {
	f.t.Helper()
	void := map[string]bool{}
	planted := make([]core.Frame, n)
	for i := range planted {
		at := core.Millis(i)
		frame := core.Frame{ID: f.planted(i), Goal: fmt.Sprint("part ", i), Status: core.InProgress, CreatedAt: at, UpdatedAt: at}
		if i > 0 {
			frame.Parent = f.planted(r.IntN(i))
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
	storetest.Save(f.t, f.Store, planted...)
}

func (f *fixture) planted(i int) string { return fmt.Sprintf("plan-p%07d", i) }

// frames are all of a project, by their ids.
type frames map[string]core.Frame

// byID returns all frames as they read.
func (f *fixture) byID() frames {
	f.t.Helper()
	all := frames{}
	for _, frame := range f.all() {
		all[frame.ID] = frame
	}
	return all
}

// invalidated is the rule: what becomes of all frames when target is invalidated.
func invalidated(before frames, target, reason string, now core.Millis) (after frames, planned, inProgress int) {
	after = frames{}
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
func (f *fixture) cascades() (list []project.Cascade) {
	f.t.Helper()
	require.NoError(f.t, f.Store.View(f.ctx, func(tx project.Tx) (err error) {
		list, err = tx.Cascades()
		return err
	}))
	return list
}

// toldOnce asserts that each frame that differs from before was told of once as
// invalidated.
func (f *fixture) toldOnce(before frames) {
	f.t.Helper()
	told := map[string]int{}
	events, err := view.Events(f.ctx, f.Project, project.EventQuery{Kinds: []string{core.FrameInvalidated}})
	require.NoError(f.t, err)
	for _, e := range events {
		told[e.Frame]++
		assert.Equal(f.t, "s", e.Session)
	}
	for id, frame := range f.byID() {
		want := 0
		if frame.Status != before[id].Status {
			want = 1
		}
		assert.Equal(f.t, want, told[id], "%s is %s and was %s", id, frame.Status, before[id].Status)
	}
}

func TestALargeInvalidationReadsAsDoneFromItsFirstTransaction(t *testing.T) {
	t.Parallel()
	for seed := range race.Seeds(4) {
		f := newFixture(t)
		f.plant(rand.New(rand.NewPCG(seed, 1)), 300)
		f.push(host("s"), "elsewhere")
		before, target := f.byID(), f.planted(int(seed%2))
		other := f.another()

		transactions, underWay := 0, 0
		var after frames
		var planned, inProgress int
		f.slow(func() {
			if transactions++; transactions == 1 {
				after, planned, inProgress = invalidated(before, target, "gone", other.byID()[target].InvalidatedAt)
			}
			underWay += len(other.cascades())
			assert.Equal(t, after, other.byID())
			stats, err := view.StatsOf(other.ctx, other.Project)
			require.NoError(t, err)
			assert.Equal(t, countOf(after), stats.Frames)
		})
		done, err := stack.Invalidate(f.ctx, f.Project, host("s"), target, "gone")
		require.NoError(t, err)

		assert.Greater(t, underWay, 1, "it took several transactions")
		assert.Equal(t, planned, done.Planned.Count)
		assert.Equal(t, inProgress, done.InProgress.Count)
		assert.Len(t, done.Planned.First, min(planned, 20))
		assert.Len(t, done.InProgress.First, min(inProgress, 20))
		for _, frame := range slices.Concat(done.Planned.First, done.InProgress.First) {
			assert.Equal(t, after[frame.ID], frame)
		}
		assert.Empty(t, other.cascades())
		assert.Equal(t, after, other.byID(), "nothing changes when all is stored")
		f.toldOnce(before)
	}
}

func countOf(all frames) map[core.Status]int {
	counts := map[core.Status]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	return counts
}

func TestASmallInvalidationIsOneTransactionInTheOrderOfTheTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	top := f.push(host("s"), "top")
	x, y := f.plan(host("s"), "", "x")[0], f.plan(host("s"), "", "y")[0]
	x1, y1 := f.plan(host("s"), x.ID, "x1")[0], f.plan(host("s"), y.ID, "y1")[0]
	x2 := f.plan(host("s"), x.ID, "x2")[0]
	updates := 0
	f.Store = &between{f.Store, func() { updates++ }}
	done, err := stack.Invalidate(f.ctx, f.Project, host("s"), top.ID, "gone")
	require.NoError(t, err)
	assert.Equal(t, []string{x.ID, y.ID, x1.ID, x2.ID, y1.ID}, ids(done.Planned.First))
	assert.Equal(t, 5, done.Planned.Count)
	assert.Equal(t, 1, updates)
}

// What a process leaves is gone on with by the others, once it has been silent for
// two seconds.
func TestSweepsFinishAnInvalidationThatWasLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.plant(rand.New(rand.NewPCG(1, 1)), 300)
	f.push(host("s"), "elsewhere")
	before := f.byID()
	ctx, cancel := context.WithCancel(f.ctx)
	other := f.another()
	f.slow(cancel)
	_, err := stack.Invalidate(ctx, f.Project, host("s"), f.planted(0), "gone")
	require.NoError(t, err, "it holds, whatever becomes of the caller")
	left := other.cascades()
	require.Len(t, left, 1)
	after, _, _ := invalidated(before, f.planted(0), "gone", left[0].At)

	require.NoError(t, sweep.Once(other.ctx, other.Project))
	assert.Equal(t, left, other.cascades(), "it may still be going on")
	f.clock += 2000
	third := f.another()
	rounds := 0
	for ; len(other.cascades()) > 0; rounds++ {
		require.Less(t, rounds, 100)
		sweeper := []*fixture{other, third}[rounds%2]
		sweeper.slow(func() { assert.Equal(t, after, third.byID()) })
		require.NoError(t, sweep.Once(other.ctx, sweeper.Project))
	}
	assert.Greater(t, rounds, 3)
	assert.Equal(t, after, other.byID())
	f.toldOnce(before)
}

func TestWhatIsDoneBelowAnInvalidationUnderWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	top := f.push(host("s"), "top")
	var plans []core.Frame
	for range 4 {
		plans = append(plans, f.plan(host("s"), "", slices.Repeat([]string{"part"}, 50)...)...)
	}
	taken := f.activate(host("s"), plans[0].ID)
	last := plans[len(plans)-1].ID
	inner := f.plan(host("s"), last, "inner")[0]
	other := f.another()
	once := true
	f.slow(func() {
		if !once {
			return
		}
		once = false
		require.NotEmpty(t, other.cascades())
		for _, id := range []string{last, inner.ID} {
			_, err := stack.Activate(f.ctx, other.Project, host("o"), id, true)
			assert.ErrorIs(t, err, core.ErrInvalid)
			_, _, err = stack.Plan(f.ctx, other.Project, host("o"), id, []stack.PlannedChild{{Goal: "more"}})
			assert.ErrorIs(t, err, core.ErrInvalid)
		}
		_, _, err := stack.Plan(f.ctx, other.Project, host("o"), taken.ID, []stack.PlannedChild{{Goal: "more"}})
		assert.ErrorIs(t, err, core.ErrInvalid, "nothing is planned below what is invalidated, at any depth")

		_, _, err = stack.AddDecision(f.ctx, other.Project, host("o"), last, "kept")
		require.NoError(t, err)
		_, err = stack.Push(f.ctx, other.Project, host("s"), "work goes on", "")
		require.NoError(t, err, "what is in progress goes on")
		done, err := stack.Invalidate(f.ctx, other.Project, host("o"), inner.ID, "for another reason")
		require.NoError(t, err)
		assert.Equal(t, "for another reason", done.Target.InvalidationReason)
		_, err = stack.Invalidate(f.ctx, other.Project, host("o"), top.ID, "again")
		require.NoError(t, err)
		assert.Len(t, other.cascades(), 1, "nothing is left to invalidate")
	})
	done, err := stack.Invalidate(f.ctx, f.Project, host("s"), top.ID, "gone")
	require.NoError(t, err)
	assert.Equal(t, len(plans)-1, done.Planned.Count, "the first was taken up before, one was invalidated by itself meanwhile")
	assert.Empty(t, f.cascades())

	all := f.byID()
	assert.Equal(t, core.InProgress, all[taken.ID].Status)
	assert.Equal(t, []string{"kept"}, all[last].Decisions)
	assert.Equal(t, "again", all[top.ID].InvalidationReason)
	assert.Equal(t, "for another reason", all[inner.ID].InvalidationReason)
	for _, p := range plans[1:] {
		assert.Equal(t, "parent invalidated: gone", all[p.ID].InvalidationReason)
		others := func(kind string) bool { return kind != core.FrameInvalidated }
		assert.Len(t, slices.DeleteFunc(f.kinds(p.ID), others), 1)
	}
}

func TestAnImportBelowAnInvalidationUnderWayIsInvalidatedToo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.plant(rand.New(rand.NewPCG(2, 1)), 200)
	other := f.another()
	at := 0
	f.slow(func() {
		if at++; at == 2 {
			require.NoError(t, other.Store.Update(f.ctx, func(tx project.Tx) error {
				return tx.SaveFrame(core.Frame{ID: "plan-late", Parent: f.planted(0), Status: core.Planned})
			}))
			assert.Equal(t, core.Invalidated, other.byID()["plan-late"].Status)
		}
	})
	_, err := stack.Invalidate(f.ctx, f.Project, host("s"), f.planted(0), "gone")
	require.NoError(t, err)
	assert.Greater(t, at, 3)
	assert.Equal(t, core.Invalidated, f.byID()["plan-late"].Status)
	assert.Equal(t, []string{core.FrameInvalidated}, f.kinds("plan-late"))
}
