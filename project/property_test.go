package project_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/view"
	"flame/tests/race"
)

// TestAnySequenceOfOperationsKeepsTheTreeWhole plays random operations of
// several sessions and looks at the whole tree after each.
func TestAnySequenceOfOperationsKeepsTheTreeWhole(t *testing.T) {
	t.Parallel()
	for seed := range race.Seeds(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := rand.New(rand.NewPCG(seed, 0))
			callers := []project.Caller{host("a"), host("b"), host("s"), child("c"), child("d"), shell}
			before := map[string]core.Frame{}
			for i := range 120 {
				by := callers[r.IntN(len(callers))]
				what, err := f.randomOperation(r, by)
				var problem *core.Problem
				if err != nil && !errors.As(err, &problem) {
					require.NoError(t, err, "%d: %s", i, what)
				}
				before = f.checkTree(before, fmt.Sprintf("seed %d, step %d: %s by %s: %v", seed, i, what, by.Session, err))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// randomOperation does one thing to a random frame and says what.
func (f *fixture) randomOperation(r *rand.Rand, by project.Caller) (what string, err error) {
	ref := f.randomFrame(r)
	status := []core.Status{core.Completed, core.Failed, core.Blocked}[r.IntN(3)]
	switch what = []string{
		"push", "pop", "pop frame", "plan", "activate", "invalidate", "decide", "goal", "summarize", "await", "store", "idle", "end", "start", "sweep",
		"prompt", "spawn", "bind", "child ends", "child goes on", "delegate", "lost",
	}[r.IntN(22)]; what {
	case "push":
		_, err = stack.Push(f.ctx, f.Project, by, fmt.Sprintf("goal %d", r.IntN(100)), "")
	case "pop":
		_, err = stack.Pop(f.ctx, f.Project, by, stack.PopArgs{Status: status, Summary: "done"})
	case "pop frame":
		_, err = stack.Pop(f.ctx, f.Project, by, stack.PopArgs{Frame: ref, Status: status, Force: r.IntN(2) == 0})
	case "plan":
		_, _, err = stack.Plan(f.ctx, f.Project, by, ref, []stack.PlannedChild{{Goal: "one"}, {Goal: "two"}})
	case "activate":
		_, err = stack.Activate(f.ctx, f.Project, by, ref, r.IntN(2) == 0)
	case "invalidate":
		_, err = stack.Invalidate(f.ctx, f.Project, by, ref, "changed")
	case "decide":
		_, _, err = stack.AddDecision(f.ctx, f.Project, by, ref, fmt.Sprintf("decision %d", r.IntN(3)))
	case "goal":
		_, err = stack.SetGoal(f.ctx, f.Project, by, ref, "another goal")
	case "summarize":
		_, err = stack.Summarize(f.ctx, f.Project, by, ref, "", "")
	case "await":
		_, err = stack.Pop(f.ctx, f.Project, by, stack.PopArgs{Frame: ref, Status: status, GenerateSummary: true})
	case "store":
		_, err = stack.StoreSummary(f.ctx, f.Project, by, ref, "a summary")
	case "idle":
		err = turns.End(f.ctx, f.Project, by, turns.Turn{})
	case "end":
		err = children.EndSession(f.ctx, f.Project, by)
	case "start":
		_, err = children.StartSession(f.ctx, f.Project, by, "a subagent")
	case "prompt":
		_, err = turns.Begin(f.ctx, f.Project, by, turns.Prompt{ID: fmt.Sprint(r.IntN(4)), Text: "a prompt of some words", FromUser: true})
	case "spawn":
		_, err = children.Spawn(f.ctx, f.Project, by, children.Call{ID: randomCall(r), Description: "look", AgentType: "general"})
	case "bind":
		_, err = children.Bind(f.ctx, f.Project, by, randomCall(r), randomChild(r))
	case "child ends":
		ends := []core.ChildEnd{core.ChildCompleted, core.ChildFailed, core.ChildCancelled}
		err = children.End(f.ctx, f.Project, by, children.Ended{Session: randomChild(r), Call: randomCall(r), End: ends[r.IntN(3)], Last: "last words"})
	case "child goes on":
		_, err = children.Continue(f.ctx, f.Project, by, randomChild(r), 0)
	case "delegate":
		_, err = f.delegate(by, children.Delegation{Under: ref, Goal: "an agent's", Session: randomChild(r)})
	case "lost":
		err = turns.End(f.ctx, f.Project, by, turns.Turn{Running: []string{randomChild(r)}})
	case "sweep":
		f.clock += core.Millis(r.IntN(1_000_000))
		err = sweep.Once(f.ctx, f.Project)
	}
	return what + " " + ref, err
}

func randomCall(r *rand.Rand) string { return fmt.Sprint("call-", r.IntN(3)) }

func randomChild(r *rand.Rand) string { return []string{"c", "d", "e"}[r.IntN(3)] }

// randomFrame returns the id of some frame, often none at all.
func (f *fixture) randomFrame(r *rand.Rand) string {
	frames := f.all()
	if len(frames) == 0 || r.IntN(3) == 0 {
		return ""
	}
	return frames[r.IntN(len(frames))].ID
}

func (f *fixture) all() (frames []core.Frame) {
	f.t.Helper()
	require.NoError(f.t, f.Store.View(f.ctx, func(tx project.Tx) (err error) {
		frames, err = tx.FindFrames(project.FrameQuery{Archived: true})
		return err
	}))
	return frames
}

// checkTree asserts what holds of every tree, and of the step from before.
func (f *fixture) checkTree(before map[string]core.Frame, what string) map[string]core.Frame {
	f.t.Helper()
	now := map[string]core.Frame{}
	for _, frame := range f.all() {
		now[frame.ID] = frame
	}
	for id, old := range before {
		frame, ok := now[id]
		if !assert.True(f.t, ok, "%s: frame %s is gone", what, id) {
			continue
		}
		if old.Parent != frame.Parent {
			assert.Regexp(f.t, "bind|child ends|delegate", what, "only a child that turns out to have a place moves there")
		}
		assert.GreaterOrEqual(f.t, frame.UpdatedAt, old.UpdatedAt, what)
		assert.Subset(f.t, frame.Decisions, old.Decisions, what)
		if frame.Status != old.Status {
			assert.True(f.t, old.CanMove(frame.Status), "%s: %s from %s to %s", what, id, old.Status, frame.Status)
		}
	}
	for _, frame := range now {
		f.checkFrame(frame, now, what)
	}
	f.checkSessions(now, what)
	tree, err := view.TreeOf(f.ctx, f.Project, shell, view.TreeArgs{})
	require.NoError(f.t, err, what)
	shown, _ := walk(tree)
	assert.Len(f.t, shown, len(now), "%s: every frame shows once", what)
	return now
}

func (f *fixture) checkFrame(frame core.Frame, all map[string]core.Frame, what string) {
	f.t.Helper()
	if frame.Parent != "" {
		assert.Contains(f.t, all, frame.Parent, what)
	}
	for _, id := range frame.PlannedChildren {
		assert.Equal(f.t, frame.ID, all[id].Parent, what)
	}
	ended := frame.Status != core.Planned && frame.Status != core.InProgress
	assert.Equal(f.t, ended, frame.EndedAt != 0, "%s: %s is %s and ended at %d", what, frame.ID, frame.Status, frame.EndedAt)
	assert.Equal(f.t, frame.Status == core.Invalidated, frame.InvalidatedAt != 0, what)
	assert.Equal(f.t, slices.Compact(slices.Sorted(slices.Values(frame.Decisions))), slices.Sorted(slices.Values(frame.Decisions)), what)
	assert.NotEmpty(f.t, frame.Goal, what)
}

// checkSessions asserts that every session works in a frame that is in
// progress, or in none.
func (f *fixture) checkSessions(all map[string]core.Frame, what string) {
	f.t.Helper()
	for _, by := range []project.Caller{host("a"), host("b"), host("s"), child("c"), child("d"), child("e"), shell} {
		frame, ok, err := view.Current(f.ctx, f.Project, by)
		require.NoError(f.t, err, what)
		if ok {
			assert.Equal(f.t, core.InProgress, all[frame.ID].Status, what)
		}
	}
}
