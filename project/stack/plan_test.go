package stack_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/tests/projecttest"
)

func TestPlanLeavesTheCurrentFrameAlone(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	planned := f.Plan(projecttest.Host("s"), "", "first", "second")
	assert.Equal(t, frame.ID, f.Current(projecttest.Host("s")))
	assert.Equal(t, projecttest.IDs(planned), f.Get(frame.ID).PlannedChildren)
	assert.Empty(t, planned[0].Session)

	activated := f.Activate(projecttest.Host("s"), planned[0].ID)
	assert.Equal(t, planned[0].ID, activated.ID, "an id never changes")
	assert.Equal(t, core.InProgress, activated.Status)
	assert.Equal(t, "s", activated.Session)
	assert.Equal(t, activated.ID, f.Current(projecttest.Host("s")))
	assert.Equal(t, projecttest.IDs(planned), f.Get(frame.ID).PlannedChildren, "it stays in the plan")
	assert.Equal(t, []string{core.FramePlanned, core.FrameActivated}, f.Kinds(activated.ID))
}

func TestPlanIsAllOrNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	_, err := stack.Plan(f.Ctx, f.Project, projecttest.Host("s"), "", []stack.PlannedChild{{Goal: "good"}, {Goal: "  "}})
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Empty(t, f.Get(frame.ID).PlannedChildren)
	_, err = stack.Plan(f.Ctx, f.Project, projecttest.Host("s"), "", nil)
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestPlanRefusesParentsThatAreOver(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	done := f.Push(projecttest.Host("s"), "done")
	f.Pop(projecttest.Host("s"), "")
	_, err := stack.Plan(f.Ctx, f.Project, projecttest.Host("s"), done.ID, []stack.PlannedChild{{Goal: "more"}})
	require.ErrorIs(t, err, core.ErrInvalid)
	planned := f.Plan(projecttest.Host("s"), "", "outer")
	assert.Equal(t, planned[0].ID, f.Plan(projecttest.Host("s"), planned[0].ID, "inner")[0].Parent, "plans nest")
}

func TestAPersonPlansRootsInAnEmptyProject(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	planned := f.Plan(projecttest.Shell, "", "one", "two")
	assert.Empty(t, planned[0].Parent)
	assert.Equal(t, planned[1].ID, f.Activate(projecttest.Shell, planned[1].ID).ID)
}

func TestActivateReopensEndedFrames(t *testing.T) {
	t.Parallel()
	for _, status := range []core.Status{core.Completed, core.Failed, core.Blocked} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			frame := f.Push(projecttest.Host("s"), "work")
			f.PopAs(projecttest.Host("s"), stack.PopArgs{Status: status, Summary: "so far"})
			reopened := f.Activate(projecttest.Host("s"), frame.ID)
			assert.Equal(t, core.InProgress, reopened.Status)
			assert.Zero(t, reopened.EndedAt)
			assert.Equal(t, "so far", reopened.Summary)
			event := core.FrameReopened
			if status == core.Blocked {
				event = core.FrameActivated
			}
			assert.Contains(t, f.Kinds(frame.ID), event)
		})
	}
}

func TestActivateTakesOverOnlyFromSessionsThatEnded(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("a"), "work")
	_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("b"), frame.ID, false)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Message, "session a")

	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("a")))
	done, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("b"), frame.ID, false)
	require.NoError(t, err)
	assert.Equal(t, "a", done.PrevSession)
	assert.Equal(t, "b", f.Get(frame.ID).Session)

	again, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("c"), frame.ID, true)
	require.NoError(t, err, "force takes it from a live one")
	assert.Equal(t, "b", again.PrevSession)
}

func TestActivateRefusesInvalidatedFrames(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	planned := f.Plan(projecttest.Host("s"), "", "gone")
	f.Invalidate(projecttest.Host("s"), planned[0].ID, "changed")
	_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), planned[0].ID, true)
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestInvalidateCascadesAndMovesTheCurrentFrameUp(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	outer := f.Push(projecttest.Host("s"), "outer")
	inner := f.Push(projecttest.Host("s"), "inner")
	planned := f.Plan(projecttest.Host("s"), "", "later")

	done := f.Invalidate(projecttest.Host("s"), outer.ID, "the API changed")
	assert.Equal(t, projecttest.IDs(planned), projecttest.IDs(done.Planned.First))
	assert.Equal(t, []string{inner.ID}, projecttest.IDs(done.InProgress.First))
	assert.Equal(t, inner.ID, done.Current, "a warned descendant stays")
	assert.Contains(t, f.Get(planned[0].ID).InvalidationReason, "the API changed")

	done = f.Invalidate(projecttest.Host("s"), "", "this too")
	assert.Equal(t, inner.ID, done.Target.ID)
	assert.Equal(t, outer.Parent, done.Current, "the nearest one in progress")
	_, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), inner.ID, " ")
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestFramesLeftBelowAnEndedFrameCanBeTakenUp(t *testing.T) {
	t.Parallel()
	for _, status := range []core.Status{core.Completed, core.Failed, core.Blocked, core.InProgress} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			outer := f.Push(projecttest.Host("s"), "outer")
			left := f.Plan(projecttest.Host("s"), "", "left over")[0]
			want := core.Status("")
			if status != core.InProgress {
				popped := f.PopAs(projecttest.Host("s"), stack.PopArgs{Status: status})
				assert.Equal(t, []string{left.ID}, projecttest.IDs(popped.Planned))
				want = status
			}
			for range 2 { // also when it is taken up again
				done, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), left.ID, false)
				require.NoError(t, err)
				assert.Equal(t, want, done.EndedParent)
				assert.Equal(t, status, f.Get(outer.ID).Status)
				f.Pop(projecttest.Host("s"), "done")
			}
		})
	}
}

// An older flame left planned frames below invalidated ones.
func TestPlannedFramesBelowAnInvalidatedFrameCannotBeTakenUp(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	void := core.Frame{ID: "frame-v", Status: core.InProgress}
	between := core.Frame{ID: "frame-b", Parent: "frame-v", Status: core.Blocked}
	planned := core.Frame{ID: "plan-p", Parent: "frame-b", Status: core.Planned}
	require.NoError(t, void.Invalidate("of no use", 1))
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return errors.Join(tx.SaveFrame(void), tx.SaveFrame(between), tx.SaveFrame(planned))
	}))
	_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), "plan-p", true)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, "plan-p lies below frame-v, which is invalidated: of no use", problem.Message)
	assert.Contains(t, problem.Hint, "outside of frame-v")
	assert.Equal(t, core.Planned, f.Get("plan-p").Status)
	_, err = stack.Plan(f.Ctx, f.Project, projecttest.Host("s"), "frame-b", []stack.PlannedChild{{Goal: "more"}})
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Message, "frame-v, which is invalidated")

	done, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), "frame-b", false)
	require.NoError(t, err, "what was begun goes on")
	assert.Equal(t, core.Invalidated, done.EndedParent)
}

func TestPopNamesTheNextPlannedFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "work")
	planned := f.Plan(s, "", "one", "two", "three")
	f.Activate(s, planned[1].ID)
	popped := f.Pop(s, "done")
	require.NotNil(t, popped.Next)
	assert.Equal(t, planned[0].ID, popped.Next.ID)
	for _, id := range []int{0, 2} {
		f.Activate(s, planned[id].ID)
		popped = f.Pop(s, "done")
	}
	assert.Nil(t, popped.Next)
}

func TestAPlanThatIsMadeAgainIsThereAlready(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	s := projecttest.Host("s")
	first := f.Plan(s, "", "one", "two", "two")
	f.Activate(s, first[0].ID)
	root := f.Get(first[0].Parent)
	plan, err := stack.Plan(f.Ctx, f.Project, s, root.ID, []stack.PlannedChild{{Goal: "two"}, {Goal: "three"}, {Goal: "one"}, {Goal: "two"}, {Goal: "two"}})
	require.NoError(t, err)
	assert.ElementsMatch(t, projecttest.IDs(first), plan.Existing)
	assert.Len(t, plan.Frames, 5)
	assert.Equal(t, []string{"in_progress work", "  in_progress one", "  planned two", "  planned two", "  planned three", "  planned two"}, f.Draw())
	assert.Len(t, f.Get(root.ID).PlannedChildren, 5)
	f.Pop(s, "done")
	assert.NotEqual(t, first[0].ID, f.Plan(s, root.ID, "one")[0].ID, "what has ended may be planned anew")
}

func TestActivatingTheCurrentFrameChangesNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "piece")
	before := f.Kinds(frame.ID)
	done, err := stack.Activate(f.Ctx, f.Project, s, frame.ID, false)
	require.NoError(t, err)
	assert.True(t, done.AlreadyCurrent)
	assert.Equal(t, before, f.Kinds(frame.ID))
}
