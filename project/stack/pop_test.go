package stack_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/projecttest"
)

// changes lists the events of the frames that a pop touches, oldest first, with the frame
// and what was recorded.
func changes(f *projecttest.Fixture, after int) (told []string) {
	f.T.Helper()
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{})
	require.NoError(f.T, err)
	for _, e := range events[after:] {
		told = append(told, e.Event+" "+e.Frame)
	}
	return told
}

func TestOnePopRecordsEndsAndContinuesLikeSeparateCalls(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]struct {
		next string
		by   func(f *projecttest.Fixture) core.Frame // the separate call
	}{
		"with a new frame":             {"more", func(f *projecttest.Fixture) core.Frame { return f.Push(s, "more") }},
		"with a planned frame":         {"plan-00000002", func(f *projecttest.Fixture) core.Frame { return f.Activate(s, "plan-00000002") }},
		"with the beginning of its id": {"plan-0000000", func(f *projecttest.Fixture) core.Frame { return f.Activate(s, "plan-00000002") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := func() (*projecttest.Fixture, int) {
				f := projecttest.New(t)
				f.Project.Dir = "/project"
				f.Plan(s, "", "planned") // frame-1 the root, plan-2
				f.Push(s, "work")        // frame-3
				_, _, err := stack.AddDecision(f.Ctx, f.Project, s, "", "known")
				require.NoError(t, err)
				return f, len(changes(f, 0))
			}
			one, had := begin()
			popped, err := stack.Pop(one.Ctx, one.Project, s, stack.PopArgs{
				Status: core.Completed, Summary: "done", Next: tt.next,
				Decisions: []string{" known ", "a", "b", "a"}, Artifacts: []string{"x.go", "/project/x.go"},
			})
			require.NoError(t, err)

			many, _ := begin()
			for _, decision := range []string{"known", "a", "b", "a"} {
				_, _, err := stack.AddDecision(many.Ctx, many.Project, s, "", decision)
				require.NoError(t, err)
			}
			_, _, err = stack.AddArtifact(many.Ctx, many.Project, s, "", "x.go")
			require.NoError(t, err)
			many.Pop(s, "done")
			next := tt.by(many)

			assert.Equal(t, changes(many, had), changes(one, had))
			require.NotNil(t, popped.Then)
			assert.Equal(t, next.ID, popped.Then.Frame.ID)
			assert.Equal(t, next.ID, popped.Current)
			assert.Equal(t, next.ID, one.Current(s))
			a, b := one.Get("frame-00000003"), many.Get("frame-00000003")
			assert.Equal(t, []string{"known", "a", "b"}, a.Decisions)
			assert.Equal(t, []any{b.Decisions, b.Artifacts, b.Summary, b.Status}, []any{a.Decisions, a.Artifacts, a.Summary, a.Status})
			assert.Equal(t, many.Get(next.ID).Parent, one.Get(next.ID).Parent)
			assert.Empty(t, popped.Before.Summary+strings.Join(append(popped.Before.Decisions, popped.Before.Artifacts...), ""), "the call names all of it")
		})
	}
}

func TestAPopWhoseNextCannotBeDoesNothing(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]struct {
		args stack.PopArgs
		says string
	}{
		"a frame that is not there":      {stack.PopArgs{Next: "plan-12345678"}, `frame "plan-12345678" not found; nothing was done`},
		"a beginning of several":         {stack.PopArgs{Next: "plan-0"}, "ambiguous; nothing was done"},
		"an invalidated one":             {stack.PopArgs{Next: "plan-00000003"}, "which is invalidated; nothing was done"},
		"one in progress":                {stack.PopArgs{Next: "frame-00000001"}, "which is in_progress, not planned; nothing was done"},
		"the one that ends":              {stack.PopArgs{Next: "frame-00000004"}, "which is in_progress, not planned; nothing was done"},
		"one that is not below":          {stack.PopArgs{Next: "plan-00000007"}, "which is not below frame-00000001"},
		"with a summary to come":         {stack.PopArgs{Next: "more", GenerateSummary: true}, "waits for a summary"},
		"a goal that is no text":         {stack.PopArgs{Next: "a\x00b"}, "next is not UTF-8"},
		"a decision that is empty":       {stack.PopArgs{Decisions: []string{"a", " "}}, "decision is empty"},
		"an artifact that is no text":    {stack.PopArgs{Artifacts: []string{"a", "\xff"}}, "artifact is not UTF-8"},
		"more decisions than anyone has": {stack.PopArgs{Decisions: strings.Split(strings.Repeat("x ", 300), " ")}, "the limit is 200"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Plan(s, "", "later", "never") // frame-1 the root, plan-2, plan-3
			_, err := stack.Invalidate(f.Ctx, f.Project, s, "plan-00000003", "no")
			require.NoError(t, err)
			f.Push(s, "work")                                                                                            // frame-4
			f.Plan(s, "", "a part of it")                                                                                // plan-5
			_, err = stack.Plan(f.Ctx, f.Project, projecttest.Host("other"), "", []stack.PlannedChild{{Goal: "theirs"}}) // frame-6, plan-7
			require.NoError(t, err)
			tt.args.Status, tt.args.Summary = core.Completed, "done"
			if tt.args.Decisions == nil {
				tt.args.Decisions = []string{"so"}
			}
			before, had := f.All(), len(changes(f, 0))

			_, err = stack.Pop(f.Ctx, f.Project, s, tt.args)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.Contains(t, problem.Message, tt.says)
			assert.NotEmpty(t, problem.Hint)
			assert.Equal(t, before, f.All())
			assert.Empty(t, changes(f, had))
			assert.Equal(t, "frame-00000004", f.Current(s))
		})
	}
}

func TestAPopThatWaitsForASummaryRecordsAtOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	work := f.Push(s, "work")
	_, err := stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Status: core.Completed, GenerateSummary: true, Decisions: []string{"so"}, Artifacts: []string{"x.go"}})
	require.NoError(t, err)
	kept := f.Get(work.ID)
	assert.Equal(t, core.InProgress, kept.Status)
	assert.Equal(t, []string{"so"}, kept.Decisions)
	assert.Equal(t, []string{"x.go"}, kept.Artifacts)
}

func TestAPopShowsWhatTheFrameHadAndTheFramesEndedInside(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	work := f.Push(s, "work")
	for _, decision := range []string{"before", "again"} {
		_, _, err := stack.AddDecision(f.Ctx, f.Project, s, "", decision)
		require.NoError(t, err)
	}
	_, err := stack.Summarize(f.Ctx, f.Project, s, "", "", "half of it")
	require.NoError(t, err)
	outer := f.Push(s, "outer")
	inner := f.Push(s, "inner")
	f.Pop(s, "")
	f.Pop(s, "")
	open := f.Plan(s, "", "left over")[0]
	popped, err := stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Status: core.Completed, Decisions: []string{"again", "new"}, Next: open.ID})
	require.NoError(t, err)
	assert.Equal(t, work.ID, popped.Frame.ID)
	assert.Equal(t, stack.Recorded{Summary: "half of it", Decisions: []string{"before"}, Artifacts: []string{}}, popped.Before)
	assert.Equal(t, []string{outer.ID, inner.ID}, popped.Inside)
	assert.False(t, popped.More)
	assert.Empty(t, popped.Planned, "what was left over goes on")
	assert.Equal(t, core.Completed, popped.Then.Under)
}

func TestAPopNamesALimitedNumberOfFramesEndedInside(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "work")
	for range 51 {
		f.Push(s, "part")
		f.Pop(s, "")
	}
	popped := f.Pop(s, "")
	assert.Len(t, popped.Inside, 50)
	assert.True(t, popped.More)
}

func TestNextMayBeAnImportedFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "work")
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: "login", Parent: "frame-00000001", Goal: "a login", Status: core.Planned, CreatedAt: 1, UpdatedAt: 1})
	}))
	popped, err := stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Status: core.Completed, Next: "login"})
	require.NoError(t, err)
	assert.Equal(t, "a login", popped.Then.Frame.Goal)
	for _, goal := range []string{"logins", "frame-rate limits", "plan"} {
		popped, err = stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Status: core.Completed, Next: goal})
		require.NoError(t, err)
		assert.Equal(t, goal, popped.Then.Frame.Goal)
	}
}

func TestNextOfARootBeginsAnother(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"a goal": "more", "a planned root": "plan-00000001"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Plan(projecttest.Shell, "", "later") // plan-1, a root
			s := projecttest.Host("s")
			root := f.Push(s, "work").Parent
			f.Pop(s, "")
			popped, err := stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Frame: root, Status: core.Completed, Next: next})
			require.NoError(t, err)
			assert.Empty(t, popped.Then.Frame.Parent)
			assert.Equal(t, popped.Then.Frame.ID, f.Current(s))
		})
	}
}
