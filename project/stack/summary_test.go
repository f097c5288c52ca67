package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/summaries"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/view"
	"flame/tests/projecttest"
)

// popLater pops the current frame of s once a summary has come.
func popLater(f *projecttest.Fixture, summary string) stack.PopResult {
	f.T.Helper()
	by, args := projecttest.Host("s"), stack.PopArgs{Status: core.Completed, Summary: summary, GenerateSummary: true, Decisions: []string{"so"}}
	popped := f.PopAs(by, args)
	require.NotNil(f.T, popped.Pending)
	require.Equal(f.T, args.Decisions, f.Get(popped.Frame.ID).Decisions, "what it records is recorded at once")
	return popped
}

func TestAPendingPopEndsWithTheSummaryOfACompaction(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ user, generated, want string }{
		"both texts":       {"mine", "made", "mine\n\n---\n\nmade"},
		"only the compact": {"", "made", "made"},
		"only the user's":  {"mine", "", "mine"},
		"analysis is cut":  {"", "<analysis>thinking</analysis>\nmade", "made"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			frame := f.Push(projecttest.Host("s"), "work")
			popLater(f, tt.user)
			assert.Equal(t, core.InProgress, f.Get(frame.ID).Status, "it waits")
			assert.Equal(t, frame.ID, f.Current(projecttest.Host("s")))
			kind, prompt, err := stack.CompactionPrompt(f.Ctx, f.Project, projecttest.Host("s"))
			require.NoError(t, err)
			assert.Equal(t, summaries.FrameCompletion, kind)
			assert.Contains(t, prompt, "work")
			if tt.user == "" {
				_, err = stack.StoreSummary(f.Ctx, f.Project, projecttest.Host("s"), "", "  ")
				require.NoError(t, err)
				assert.Equal(t, core.InProgress, f.Get(frame.ID).Status, "without any text it waits on")
			}

			_, err = stack.StoreSummary(f.Ctx, f.Project, projecttest.Host("s"), frame.ID, tt.generated)
			require.NoError(t, err)
			ended := f.Get(frame.ID)
			assert.Equal(t, core.Completed, ended.Status)
			assert.Equal(t, tt.want, ended.Summary)
			assert.Equal(t, frame.Parent, f.Current(projecttest.Host("s")))
			info, err := stack.CompactionsOf(f.Ctx, f.Project, projecttest.Host("s"), "")
			require.NoError(t, err)
			assert.Zero(t, info.Waiting)
			assert.Empty(t, info.Marks)
		})
	}
}

func TestAPendingPopTimesOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		user, want string
		popped     bool // again, without a summary to come
	}{
		"into the user's text": {user: "mine", want: "mine"},
		"into a note":          {want: "(no summary: the compaction that was to bring it did not come in time)"},
		"no more after a pop":  {"first", "second", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			frame := f.Push(projecttest.Host("s"), "work")
			popLater(f, tt.user)
			if tt.popped {
				f.Pop(projecttest.Host("s"), tt.want)
			}
			f.Clock += core.Millis((9 * time.Minute).Milliseconds())
			require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
			assert.Equal(t, tt.popped, f.Get(frame.ID).Status == core.Completed)
			f.Clock += core.Millis((2 * time.Minute).Milliseconds())
			require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
			assert.Equal(t, core.Completed, f.Get(frame.ID).Status)
			assert.Equal(t, tt.want, f.Get(frame.ID).Summary)
		})
	}
}

func TestAReplacedSummaryStaysInTheLog(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	for _, summary := range []string{"first", "second"} {
		_, err := stack.StoreSummary(f.Ctx, f.Project, projecttest.Host("s"), "", summary)
		require.NoError(t, err)
	}
	assert.Equal(t, "second", f.Get(frame.ID).Summary)
	assert.Equal(t, core.InProgress, f.Get(frame.ID).Status)
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Frame: frame.ID, Kinds: []string{core.SummaryStored}})
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.JSONEq(t, `{"replacedSummary":"first"}`, string(events[1].Data))
}

func TestSummarizeAsksAndThenKeeps(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	asked, err := stack.Summarize(f.Ctx, f.Project, projecttest.Host("s"), "", "heed the tests", "")
	require.NoError(t, err)
	assert.False(t, asked.Stored)
	assert.Contains(t, asked.Prompt, "heed the tests")
	info, err := stack.CompactionsOf(f.Ctx, f.Project, projecttest.Host("s"), "")
	require.NoError(t, err)
	assert.Equal(t, summaries.ManualSummary, info.Type)
	assert.Equal(t, "heed the tests", info.Note)

	kept, err := stack.Summarize(f.Ctx, f.Project, projecttest.Host("s"), "", "", "half is done")
	require.NoError(t, err)
	assert.True(t, kept.Stored)
	assert.Equal(t, "half is done", f.Get(frame.ID).Summary)
	info, err = stack.CompactionsOf(f.Ctx, f.Project, projecttest.Host("s"), "")
	require.NoError(t, err)
	assert.Empty(t, info.Type, "what was asked for has come")
}
