package stack_test

import (
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/cases"
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
				f.Decide(s, "", "known")
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
				many.Decide(s, "", decision)
			}
			_, _, err = stack.AddArtifact(many.Ctx, many.Project, s, "", "x.go")
			require.NoError(t, err)
			many.Pop(s, "done")
			next := tt.by(many)

			assert.Equal(t, changes(many, had), changes(one, had))
			require.NotNil(t, popped.NextActivated)
			assert.Equal(t, next.ID, popped.NextActivated.Frame.ID)
			assert.Equal(t, next.ID, popped.Current)
			assert.Equal(t, next.ID, one.Current(s))
			a, b := one.Get("frame-00000003"), many.Get("frame-00000003")
			assert.Equal(t, []string{"known", "a", "b"}, a.Decisions)
			assert.Equal(t, []any{b.Decisions, b.Artifacts, b.Summary, b.Status}, []any{a.Decisions, a.Artifacts, a.Summary, a.Status})
			assert.Equal(t, many.Get(next.ID).Parent, one.Get(next.ID).Parent)
			assert.Empty(t, popped.EarlierTexts.Summary+strings.Join(append(popped.EarlierTexts.Decisions, popped.EarlierTexts.Artifacts...), ""),
				"the call names all of it")
		})
	}
}

func TestAPopIsDoneWhateverIsNext(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for name, tt := range cases.Read[struct {
		Next string
		Then string // the current frame afterwards
		Says string // why next was not taken up
	}](t, "testdata/next.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := branched(t, s)
			had := len(f.All())
			popped, err := stack.Pop(f.Ctx, f.Project, s, stack.PopArgs{Status: core.Completed, Summary: "done", Next: tt.Next})
			require.NoError(t, err)
			ended := f.Get("frame-00000004")
			assert.Equal(t, core.Completed, ended.Status)
			assert.Equal(t, "done", ended.Summary)
			assert.Equal(t, tt.Then, f.Current(s))
			assert.Equal(t, tt.Then, popped.Current)
			assert.Len(t, f.All(), had, "no frame is there twice")
			if tt.Says == "" {
				assert.Nil(t, popped.NotNext)
				return
			}
			require.NotNil(t, popped.NotNext)
			assert.Contains(t, popped.NotNext.Message, tt.Says)
			assert.NotEmpty(t, popped.NotNext.Hint)
		})
	}
}

func TestAPushTakesUpWhatIsPlanned(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for goal, want := range map[string]string{"A part of it": "plan-00000005", "later": "plan-00000002"} {
		f := branched(t, s)
		had := len(f.All())
		frame, err := stack.Push(f.Ctx, f.Project, s, goal, "it is green")
		require.NoError(t, err)
		assert.Equal(t, want, frame.ID)
		assert.Equal(t, want, f.Current(s))
		assert.Equal(t, "it is green", f.Get(want).SuccessCriteria)
		assert.Len(t, f.All(), had)
	}
	f := branched(t, s)
	frame, err := stack.Push(f.Ctx, f.Project, s, "never", "")
	require.NoError(t, err)
	assert.Equal(t, "frame-00000004", frame.Parent, "what was invalidated is no plan")
}

// branched returns a tree whose session works in frame-4, with planned frames in it, above it
// and in another tree.
func branched(t *testing.T, s project.Caller) *projecttest.Fixture {
	t.Helper()
	f := projecttest.New(t)
	f.Plan(s, "", "later", "never") // frame-1 the root, plan-2, plan-3
	_, err := stack.Invalidate(f.Ctx, f.Project, s, "plan-00000003", "no")
	require.NoError(t, err)
	f.Push(s, "work")                                                                                            // frame-4
	f.Plan(s, "", "a part of it")                                                                                // plan-5
	_, err = stack.Plan(f.Ctx, f.Project, projecttest.Host("other"), "", []stack.PlannedChild{{Goal: "theirs"}}) // frame-6, plan-7
	require.NoError(t, err)
	return f
}

func TestARefusedPopChangesNothing(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for says, args := range map[string]stack.PopArgs{
		"decision is empty":     {Decisions: []string{"a", " "}, Next: "later"},
		"artifact is not UTF-8": {Artifacts: []string{"a", "\xff"}},
		"the limit is 200":      {Decisions: strings.Split(strings.Repeat("x ", 300), " ")},
	} {
		f := branched(t, s)
		before, had := f.All(), len(changes(f, 0))
		args.Status, args.Summary = core.Completed, "done"
		_, err := stack.Pop(f.Ctx, f.Project, s, args)
		var problem *core.Problem
		require.ErrorAs(t, err, &problem)
		assert.Contains(t, problem.Message, says)
		assert.NotEmpty(t, problem.Hint)
		assert.Equal(t, before, f.All())
		assert.Empty(t, changes(f, had))
		assert.Equal(t, "frame-00000004", f.Current(s))
	}
}

func TestAPopShowsWhatTheFrameHadAndTheFramesEndedInside(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	work := f.Push(s, "work")
	for _, decision := range []string{"before", "again"} {
		f.Decide(s, "", decision)
	}
	_, err := stack.Summarize(f.Ctx, f.Project, s, "", "", "half of it")
	require.NoError(t, err)
	outer := f.Push(s, "outer")
	inner := f.Push(s, "inner")
	f.Pop(s, "")
	f.Pop(s, "")
	open := f.Plan(s, "", "left over")[0]
	popped := f.PopAs(s, stack.PopArgs{Status: core.Completed, Decisions: []string{"again", "new"}, Next: open.ID})
	assert.Equal(t, work.ID, popped.Frame.ID)
	assert.Equal(t, stack.FrameTexts{Summary: "half of it", Decisions: []string{"before"}, Artifacts: []string{}}, popped.EarlierTexts)
	assert.Equal(t, []string{outer.ID, inner.ID}, lo.Map(popped.EndedBelow, func(f core.Frame, _ int) string { return f.ID }))
	assert.False(t, popped.More)
	assert.Empty(t, popped.Planned, "what was left over goes on")
	assert.Equal(t, core.Completed, popped.NextActivated.EndedParent)
	for range 51 {
		f.Push(s, "part")
		f.Pop(s, "")
	}
	popped = f.Pop(s, "")
	assert.Len(t, popped.EndedBelow, 5, "their number is limited")
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
	popped := f.PopAs(s, stack.PopArgs{Status: core.Completed, Next: "login"})
	assert.Equal(t, "a login", popped.NextActivated.Frame.Goal)
	for _, goal := range []string{"logins", "frame-rate limits", "plan"} {
		popped = f.PopAs(s, stack.PopArgs{Status: core.Completed, Next: goal})
		assert.Equal(t, goal, popped.NextActivated.Frame.Goal)
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
			popped := f.PopAs(s, stack.PopArgs{Frame: root, Status: core.Completed, Next: next})
			assert.Empty(t, popped.NextActivated.Frame.Parent)
			assert.Equal(t, popped.NextActivated.Frame.ID, f.Current(s))
		})
	}
}
