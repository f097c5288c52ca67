package stack_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/tests/projecttest"
)

// problem returns the Problem that an error is.
func problem(t *testing.T, err error) *core.Problem {
	t.Helper()
	require.ErrorIs(t, err, core.ErrInvalid)
	var p *core.Problem
	require.ErrorAs(t, err, &p)
	return p
}

// writes are what may be done to a frame that is named.
func writes(f *projecttest.Fixture, by project.Caller, id string) map[string]func() error {
	pop := func(args stack.PopArgs) func() error {
		return func() error {
			args.Frame, args.Status = id, core.Completed
			_, err := stack.Pop(f.Ctx, f.Project, by, args)
			return err
		}
	}
	return map[string]func() error{
		"pop":                pop(stack.PopArgs{}),
		"pop by force":       pop(stack.PopArgs{Force: true}),
		"pop with a summary": pop(stack.PopArgs{GenerateSummary: true}),
		"goal":               func() error { _, err := stack.SetGoal(f.Ctx, f.Project, by, id, "another", ""); return err },
		"artifact":           func() error { _, _, err := stack.AddArtifact(f.Ctx, f.Project, by, id, "a.go"); return err },
		"summary":            func() error { _, err := stack.Summarize(f.Ctx, f.Project, by, id, "", "all done"); return err },
		"ask for a summary":  func() error { _, err := stack.Summarize(f.Ctx, f.Project, by, id, "note", ""); return err },
		"summary of a host":  func() error { _, err := stack.StoreSummary(f.Ctx, f.Project, by, id, "all done"); return err },
		"log": func() error {
			_, err := stack.SaveLog(f.Ctx, f.Project, by, id, filepath.Join(f.Data, "log"), func(io.Writer) error { return nil })
			return err
		},
		"an agent below": func() error {
			_, err := f.Delegate(by, children.DelegateArgs{Agent: "agent-1", Under: id, Goal: "help"})
			return err
		},
	}
}

func TestOnlyItsMachineChangesAFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "mine")
	for _, status := range []core.Status{core.InProgress, core.Planned, core.Blocked, core.Completed} {
		frame := f.Foreign("", "theirs", status)
		for name, change := range writes(f, projecttest.Host("s"), frame.ID) {
			t.Run(name+" "+string(status), func(t *testing.T) {
				err := change()
				assert.Equal(t, frame, f.Get(frame.ID))
				p := problem(t, err)
				if name != "an agent below" && (name == "log" || status == core.InProgress) {
					assert.Equal(t, frame.ID+" belongs to machine laptop-x7k2", p.Message)
					assert.Contains(t, p.Hint, frame.ID+" takes it over")
				}
			})
		}
	}
}

func TestEveryMachinePlansBelowDecidesAndInvalidates(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Foreign("", "theirs", core.InProgress)
	planned := f.Plan(projecttest.Host("s"), frame.ID, "one more thing")[0]
	f.Decide(projecttest.Host("s"), frame.ID, "use SQLite")
	got := f.Get(frame.ID)
	assert.Equal(t, []string{planned.ID}, got.PlannedChildren)
	assert.Equal(t, []string{"use SQLite"}, got.Decisions)
	assert.Equal(t, projecttest.Laptop, got.Machine)
	assert.Empty(t, planned.Machine)

	foreign := f.Foreign(frame.ID, "their plan", core.Planned)
	f.Invalidate(projecttest.Host("s"), frame.ID, "no longer wanted")
	for _, id := range []string{frame.ID, planned.ID, foreign.ID} {
		assert.Equal(t, core.Invalidated, f.Get(id).Status)
	}
	assert.Equal(t, projecttest.Laptop, f.Get(frame.ID).Machine)
}

func TestAFrameOfAnotherMachineIsTakenOverByAClaim(t *testing.T) {
	t.Parallel()
	for _, status := range []core.Status{core.Planned, core.InProgress, core.Blocked, core.Completed, core.Failed} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Push(projecttest.Host("s"), "mine")
			frame := f.Foreign("", "theirs", status)

			_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, true)
			p := problem(t, err)
			assert.Contains(t, p.Message, "belongs to machine laptop-x7k2, and this machine is not connected to the hub now")
			assert.Contains(t, p.Hint, "flame doctor")
			assert.Equal(t, frame, f.Get(frame.ID))

			refusal := core.Invalidf("session x works in it").WithHint("ask it")
			f.Claim = func(context.Context, core.Frame) error { return refusal }
			_, err = stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, true)
			assert.ErrorIs(t, err, refusal)
			assert.Equal(t, frame, f.Get(frame.ID))

			claimed := f.Grant()
			done, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, false)
			require.NoError(t, err)
			assert.Equal(t, []string{frame.ID}, claimed())
			assert.Equal(t, projecttest.Laptop, done.Machine)
			assert.False(t, done.AlreadyCurrent)
			got := f.Get(frame.ID)
			assert.Empty(t, got.Machine)
			assert.Equal(t, "s", got.Session)
			assert.Equal(t, core.InProgress, got.Status)
			assert.Equal(t, frame.ID, f.Current(projecttest.Host("s")))

			f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: frame.ID, Status: core.Completed})
			assert.Equal(t, core.Completed, f.Get(frame.ID).Status)
			assert.Len(t, claimed(), 1)
		})
	}
}

func TestAClaimIsMadeOnlyIfItHelps(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	claimed := f.Grant()
	void := f.Push(projecttest.Host("s"), "void")
	below := f.Foreign(void.ID, "their plan", core.Planned)
	gone := f.Foreign("", "given up", core.Invalidated)
	f.Invalidate(projecttest.Host("s"), void.ID, "no")
	mine := f.Plan(projecttest.Host("s"), "", "mine")[0]
	f.Activate(projecttest.Host("s"), mine.ID)
	for _, id := range []string{gone.ID, below.ID, "frame-unknown"} {
		_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), id, true)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "machine")
	}
	assert.Empty(t, claimed())
}

func TestAFrameThatWentElsewhereDuringTheClaimStaysThere(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Foreign("", "theirs", core.InProgress)
	f.Claim = func(context.Context, core.Frame) error {
		moved := frame
		moved.Machine = "tower-1"
		return f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.SaveFrame(moved) })
	}
	_, err := stack.Activate(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, false)
	assert.Contains(t, problem(t, err).Message, "has just gone to machine tower-1")
	assert.Equal(t, "tower-1", f.Get(frame.ID).Machine)
}

func TestAPopContinuesInAFrameOfAnotherMachineByAClaim(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	begin := func() (f *projecttest.Fixture, root string, pop func(stack.PopArgs) (stack.PopResult, error)) {
		f = projecttest.New(t)
		f.Push(s, "first")
		root = f.Get(f.Current(s)).Parent
		next := f.Foreign(root, "their plan", core.Planned)
		return f, root, func(args stack.PopArgs) (stack.PopResult, error) {
			args.Status, args.Next = core.Completed, next.ID
			return stack.Pop(f.Ctx, f.Project, s, args)
		}
	}
	f, root, pop := begin()
	popped, err := pop(stack.PopArgs{})
	require.NoError(t, err)
	require.NotNil(t, popped.NotNext)
	assert.Contains(t, popped.NotNext.Message, "not connected to the hub now")
	assert.Equal(t, root, f.Current(s))

	f, root, pop = begin()
	claimed := f.Grant()
	_, err = pop(stack.PopArgs{Frame: root})
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Empty(t, claimed(), "the pop was refused, with children in progress")
	popped, err = pop(stack.PopArgs{Summary: "done"})
	require.NoError(t, err)
	assert.Equal(t, []string{popped.Current}, claimed())
	assert.Equal(t, "their plan", f.Get(popped.Current).Goal)
	assert.Empty(t, f.Get(popped.Current).Machine)
}

func TestAFrameThatAnotherMachineTookOverIsLeftBehind(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	outer := f.Push(s, "outer")
	inner := f.Push(s, "inner")
	f.TakeAway(inner.ID)
	before := f.All()
	for name, change := range writes(f, s, "") {
		if name == "summary of a host" || name == "an agent below" {
			continue
		}
		p := problem(t, change())
		assert.Equal(t, inner.ID+" belongs to machine laptop-x7k2", p.Message, name)
		assert.Contains(t, p.Hint, "starts another frame", name)
	}
	_, err := stack.StoreSummary(f.Ctx, f.Project, s, "", "of the work in inner")
	require.ErrorIs(t, err, core.ErrNotFound)
	_, _, err = stack.AddDecision(f.Ctx, f.Project, s, "", "whose is it?")
	problem(t, err)
	_, err = stack.Plan(f.Ctx, f.Project, s, "", []stack.PlannedChild{{Goal: "below what?"}})
	problem(t, err)
	_, err = stack.Invalidate(f.Ctx, f.Project, s, "", "whose?")
	problem(t, err)
	assert.Equal(t, before, f.All())
	assert.Equal(t, outer.ID, f.Current(s))

	own := f.Push(s, "my own")
	assert.Equal(t, outer.ID, own.Parent)
	f.Pop(s, "done")
	assert.Equal(t, outer.ID, f.Current(s))

	f.TakeAway(outer.ID)
	f.TakeAway(outer.Parent)
	assert.Empty(t, f.Current(s))
	assert.Empty(t, f.Push(s, "a new root").Parent)
}

func TestAnOwnFrameBelowAnotherMachinesEndsInNone(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	theirs := f.Foreign("", "theirs", core.InProgress)
	mine := f.Plan(projecttest.Shell, theirs.ID, "mine")[0]
	f.Activate(s, mine.ID)
	assert.Equal(t, theirs, func() core.Frame {
		got := f.Get(theirs.ID)
		got.PlannedChildren, got.UpdatedAt = nil, theirs.UpdatedAt
		return got
	}(), "nobody takes the tree of another machine")
	popped := f.Pop(s, "done")
	assert.Empty(t, popped.Current)
	assert.Equal(t, theirs.ID, popped.Parent.ID)
	assert.Equal(t, core.InProgress, f.Get(theirs.ID).Status)
	assert.Empty(t, f.Push(s, "next").Parent)
}

func TestAFrameTakenFromAPersonAtAShellIsLeftBehindToo(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Shell, "outer")
	middle := f.Push(projecttest.Shell, "middle")
	inner := f.Push(projecttest.Shell, "inner")
	f.TakeAway(inner.ID)
	assert.Equal(t, middle.ID, f.Current(projecttest.Shell))
	_, err := stack.Pop(f.Ctx, f.Project, projecttest.Shell, stack.PopArgs{Status: core.Completed})
	assert.Equal(t, inner.ID+" belongs to machine laptop-x7k2", problem(t, err).Message)
	own := f.Push(projecttest.Shell, "own")
	assert.Equal(t, middle.ID, own.Parent)
	f.Pop(projecttest.Shell, "")
	_, err = stack.Pop(f.Ctx, f.Project, projecttest.Shell, stack.PopArgs{Status: core.Completed})
	assert.Contains(t, problem(t, err).Message, "has children in progress: "+inner.ID+" (in_progress, inner @laptop-x7k2)")
	assert.Equal(t, middle.ID, f.Current(projecttest.Shell))
}

func TestASessionTakesBackAFrameThatAnotherMachineTook(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	f.TakeAway(frame.ID)
	f.Grant()
	done, err := stack.Activate(f.Ctx, f.Project, s, frame.ID, false)
	require.NoError(t, err)
	assert.False(t, done.AlreadyCurrent)
	assert.Equal(t, "at the laptop", done.PrevSession)
	assert.Equal(t, frame.ID, f.Current(s))
	f.Pop(s, "done")
}

func TestNothingEndsAFrameOfAnotherMachineByItself(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	s := projecttest.Host("s")
	tests := map[string]func(f *projecttest.Fixture) (taken string){
		"the end of its session": func(f *projecttest.Fixture) string {
			root := f.Push(s, "work").Parent
			f.Pop(s, "")
			f.TakeAway(root)
			f.End(s)
			return root
		},
		"a summary that does not come": func(f *projecttest.Fixture) string {
			frame := f.Push(s, "work")
			f.PopAs(s, stack.PopArgs{Status: core.Completed, GenerateSummary: true})
			f.TakeAway(frame.ID)
			f.Clock += 11 * minute
			return frame.ID
		},
		"the end of a child": func(f *projecttest.Fixture) string {
			f.Prompt(s, "p", "work")
			f.SpawnAll(s, "look")
			frame := f.Current(projecttest.Agent("look"))
			f.TakeAway(frame)
			f.EndChild(s, projecttest.Completed("look", "LAST"))
			return frame
		},
		"the end of an agent": func(f *projecttest.Fixture) string {
			f.Prompt(s, "p", "work")
			made, err := f.Delegate(s, children.DelegateArgs{Agent: "agent-1", Goal: "help"})
			require.NoError(f.T, err)
			f.TakeAway(made.Frame.ID)
			require.NoError(f.T, children.EndDelegation(f.Ctx, f.Project, s, made.Frame.ID, children.EndReport{Agent: "agent-1", End: core.ChildFailed}))
			return made.Frame.ID
		},
		"time": func(f *projecttest.Fixture) string {
			frame := f.Foreign("", "theirs", core.InProgress)
			f.Clock += 60 * 24 * 10 * minute
			return frame.ID
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			taken := act(f)
			f.Sweep()
			pruned, err := sweep.Prune(f.Ctx, f.Project, true)
			require.NoError(t, err)
			assert.NotContains(t, projecttest.IDs(pruned), taken)
			got := f.Get(taken)
			assert.Equal(t, core.InProgress, got.Status)
			assert.Equal(t, projecttest.Laptop, got.Machine)
			assert.Equal(t, "at the laptop", got.Session)
			assert.Empty(t, got.Summary)
		})
	}
}

func TestWorkOnAnotherMachineKeepsTheFramesAboveOpen(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "p", "work")
	root := f.Current(s)
	f.SpawnAll(s, "look")
	child := f.Current(projecttest.Agent("look"))
	theirs := f.Foreign(child, "theirs", core.InProgress)
	f.EndChild(s, projecttest.Completed("look", "LAST"))
	f.Rest(s, "bye")
	f.End(s)
	f.Sweep()
	assert.Equal(t, core.InProgress, f.Get(child).Status)
	assert.Equal(t, core.InProgress, f.Get(root).Status)

	f.EndElsewhere(theirs.ID)
	f.Sweep()
	f.Sweep()
	assert.Equal(t, core.Completed, f.Get(child).Status)
	assert.True(t, f.Get(root).Status.Ended())
}
