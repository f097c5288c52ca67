package stack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

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
	f.Invalidate(reason, now) // every status can
	after[target] = f
	for below := range core.Descendants(target, func(f core.Frame) string { return f.ID }, func(id string) []core.Frame { return children[id] }) {
		if below.Status == core.InProgress {
			inProgress++
		}
		if core.CascadeOf(f).Invalidate(&below) {
			after[below.ID] = below
			planned++
		}
	}
	return after, planned, inProgress
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

func TestAnInvalidationFollowsTheRule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		f := projecttest.New(t)
		plant(f, rand.New(rand.NewPCG(seed, 1)), 300)
		f.Push(projecttest.Host("s"), "elsewhere")
		before, target := f.ByID(), idAt(f, int(seed%2))
		done := f.Invalidate(projecttest.Host("s"), target, "gone")
		after, planned, inProgress := invalidated(before, target, "gone", done.Target.InvalidatedAt)
		assert.Equal(t, after, f.ByID())
		assert.Equal(t, planned, done.Planned.Count)
		assert.Equal(t, inProgress, done.InProgress.Count)
		assert.Len(t, done.Planned.First, min(planned, 20))
		assert.Len(t, done.InProgress.First, min(inProgress, 20))
		for _, frame := range slices.Concat(done.Planned.First, done.InProgress.First) {
			assert.Equal(t, after[frame.ID], frame)
		}
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
	f.Store = &projecttest.UpdateObserver{Store: f.Store, After: func() { updates++ }}
	done := f.Invalidate(projecttest.Host("s"), top.ID, "gone")
	assert.Equal(t, []string{x.ID, y.ID, x1.ID, x2.ID, y1.ID}, projecttest.IDs(done.Planned.First))
	assert.Equal(t, 5, done.Planned.Count)
	assert.Equal(t, 1, updates)
}
