package stack_test

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
	"flame/tests/projecttest"
)

// TestAnySequenceOfOperationsKeepsTheTreeWhole plays random operations of
// several sessions and looks at the whole tree after each.
func TestAnySequenceOfOperationsKeepsTheTreeWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			r := rand.New(rand.NewPCG(seed, 0))
			callers := []project.Caller{
				projecttest.Host("a"), projecttest.Host("b"), projecttest.Host("s"), projecttest.Child("c"), projecttest.Child("d"), projecttest.Shell,
			}
			before := map[string]core.Frame{}
			for i := range 120 {
				by := callers[r.IntN(len(callers))]
				what, err := randomOperation(f, r, by)
				var problem *core.Problem
				if err != nil && !errors.As(err, &problem) {
					require.NoError(t, err, "%d: %s", i, what)
				}
				before = checkTree(f, before, fmt.Sprintf("seed %d, step %d: %s by %s: %v", seed, i, what, by.Session, err))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// randomOperation does one thing to a random frame and says what.
func randomOperation(f *projecttest.Fixture, r *rand.Rand, by project.Caller) (what string, err error) {
	ref := randomFrame(f, r)
	status := []core.Status{core.Completed, core.Failed, core.Blocked}[r.IntN(3)]
	switch what = []string{
		"push", "pop", "pop frame", "plan", "activate", "invalidate", "decide", "goal", "summarize", "await", "store", "idle", "end", "start", "sweep",
		"prompt", "spawn", "bind", "child ends", "child goes on", "delegate", "lost", "pop and go on",
	}[r.IntN(23)]; what {
	case "push":
		_, err = stack.Push(f.Ctx, f.Project, by, fmt.Sprintf("goal %d", r.IntN(100)), "")
	case "pop":
		_, err = stack.Pop(f.Ctx, f.Project, by, stack.PopArgs{Status: status, Summary: "done"})
	case "pop frame":
		_, err = stack.Pop(f.Ctx, f.Project, by, stack.PopArgs{Frame: ref, Status: status, Force: r.IntN(2) == 0})
	case "pop and go on":
		args := stack.PopArgs{Status: status, Decisions: []string{fmt.Sprintf("decision %d", r.IntN(3))}, Next: []string{"a goal", randomFrame(f, r)}[r.IntN(2)]}
		if r.IntN(2) == 0 {
			args.Frame = ref
		}
		_, err = stack.Pop(f.Ctx, f.Project, by, args)
	case "plan":
		_, err = stack.Plan(f.Ctx, f.Project, by, ref, []stack.PlannedChild{{Goal: "one"}, {Goal: "two"}})
	case "activate":
		_, err = stack.Activate(f.Ctx, f.Project, by, ref, r.IntN(2) == 0)
	case "invalidate":
		_, err = stack.Invalidate(f.Ctx, f.Project, by, ref, "changed")
	case "decide":
		_, _, err = stack.AddDecision(f.Ctx, f.Project, by, ref, fmt.Sprintf("decision %d", r.IntN(3)))
	case "goal":
		_, err = stack.SetGoal(f.Ctx, f.Project, by, ref, "another goal", "")
	case "summarize":
		_, err = stack.Summarize(f.Ctx, f.Project, by, ref, "", "")
	case "await":
		_, err = stack.Pop(f.Ctx, f.Project, by, stack.PopArgs{Frame: ref, Status: status, GenerateSummary: true})
	case "store":
		_, err = stack.StoreSummary(f.Ctx, f.Project, by, ref, "a summary")
	case "idle":
		err = turns.End(f.Ctx, f.Project, by, turns.EndReport{})
	case "end":
		err = children.EndSession(f.Ctx, f.Project, by)
	case "start":
		_, err = children.StartSession(f.Ctx, f.Project, by, "a subagent")
	case "prompt":
		_, err = turns.Begin(f.Ctx, f.Project, by, turns.Prompt{ID: fmt.Sprint(r.IntN(4)), Text: "a prompt of some words", FromUser: true})
	case "spawn":
		_, err = children.Spawn(f.Ctx, f.Project, by, children.SpawnCall{ID: randomCall(r), Description: "look", AgentType: "general"})
	case "bind":
		_, err = children.BindSession(f.Ctx, f.Project, by, children.ChildStart{Call: randomCall(r), Session: randomChild(r)})
	case "child ends":
		ends := []core.ChildEnd{core.ChildCompleted, core.ChildFailed, core.ChildCancelled}
		err = children.End(f.Ctx, f.Project, by, children.EndReport{Session: randomChild(r), Call: randomCall(r), End: ends[r.IntN(3)], Last: "last words"})
	case "child goes on":
		_, err = children.Continue(f.Ctx, f.Project, by, randomChild(r), 0)
	case "delegate":
		_, err = f.Delegate(by, children.DelegateArgs{Under: ref, Goal: "an agent's", Session: randomChild(r)})
	case "lost":
		err = turns.End(f.Ctx, f.Project, by, turns.EndReport{Running: []string{randomChild(r)}})
	case "sweep":
		f.Clock += core.Millis(r.IntN(1_000_000))
		err = sweep.RunOnce(f.Ctx, f.Project)
	}
	return what + " " + ref, err
}

func randomCall(r *rand.Rand) string { return fmt.Sprint("call-", r.IntN(3)) }

func randomChild(r *rand.Rand) string { return []string{"c", "d", "e"}[r.IntN(3)] }

// randomFrame returns the id of some frame, often none at all.
func randomFrame(f *projecttest.Fixture, r *rand.Rand) string {
	frames := f.All()
	if len(frames) == 0 || r.IntN(3) == 0 {
		return ""
	}
	return frames[r.IntN(len(frames))].ID
}

// checkTree asserts what holds of every tree, and of the step from before.
func checkTree(f *projecttest.Fixture, before map[string]core.Frame, what string) map[string]core.Frame {
	f.T.Helper()
	now := map[string]core.Frame{}
	for _, frame := range f.All() {
		now[frame.ID] = frame
	}
	for id, old := range before {
		frame, ok := now[id]
		if !assert.True(f.T, ok, "%s: frame %s is gone", what, id) {
			continue
		}
		if old.Parent != frame.Parent {
			assert.Regexp(f.T, "bind|child ends|delegate", what, "only a child that turns out to have a place moves there")
		}
		assert.GreaterOrEqual(f.T, frame.UpdatedAt, old.UpdatedAt, what)
		assert.Subset(f.T, frame.Decisions, old.Decisions, what)
		if frame.Status != old.Status {
			assert.True(f.T, old.CanTransition(frame.Status), "%s: %s from %s to %s", what, id, old.Status, frame.Status)
		}
	}
	for _, frame := range now {
		checkFrame(f, frame, now, what)
	}
	checkSessions(f, now, what)
	tree, err := view.TreeOf(f.Ctx, f.Project, projecttest.Shell, view.TreeArgs{})
	require.NoError(f.T, err, what)
	shown, _ := projecttest.Walk(tree)
	assert.Len(f.T, shown, len(now), "%s: every frame shows once", what)
	return now
}

func checkFrame(f *projecttest.Fixture, frame core.Frame, all map[string]core.Frame, what string) {
	f.T.Helper()
	if frame.Parent != "" {
		assert.Contains(f.T, all, frame.Parent, what)
	}
	for _, id := range frame.PlannedChildren {
		assert.Equal(f.T, frame.ID, all[id].Parent, what)
	}
	for above := frame.Parent; frame.Status == core.Planned && above != ""; above = all[above].Parent {
		assert.NotEqual(f.T, core.Invalidated, all[above].Status, "%s: %s is planned below %s", what, frame.ID, above)
	}
	ended := frame.Status != core.Planned && frame.Status != core.InProgress
	assert.Equal(f.T, ended, frame.EndedAt != 0, "%s: %s is %s and ended at %d", what, frame.ID, frame.Status, frame.EndedAt)
	assert.Equal(f.T, frame.Status == core.Invalidated, frame.InvalidatedAt != 0, what)
	assert.Equal(f.T, slices.Compact(slices.Sorted(slices.Values(frame.Decisions))), slices.Sorted(slices.Values(frame.Decisions)), what)
	assert.NotEmpty(f.T, frame.Goal, what)
}

// checkSessions asserts that every session works in a frame that is in
// progress, or in none.
func checkSessions(f *projecttest.Fixture, all map[string]core.Frame, what string) {
	f.T.Helper()
	for _, session := range []string{"a", "b", "s", "c", "d", "e", ""} {
		frame, ok, err := projecttest.Current(f.Ctx, f.Project, project.Caller{Session: session})
		require.NoError(f.T, err, what)
		if ok {
			assert.Equal(f.T, core.InProgress, all[frame.ID].Status, what)
		}
	}
}
