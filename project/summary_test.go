package project_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/view"
)

// popLater pops the current frame of s once a summary has come.
func (f *fixture) popLater(summary string) stack.Popped {
	f.t.Helper()
	popped, err := stack.Pop(f.ctx, f.Project, host("s"), stack.PopArgs{Status: core.Completed, Summary: summary, GenerateSummary: true})
	require.NoError(f.t, err)
	require.NotNil(f.t, popped.Pending)
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
			f := newFixture(t)
			frame := f.push(host("s"), "work")
			f.popLater(tt.user)
			assert.Equal(t, core.InProgress, f.get(frame.ID).Status, "it waits")
			assert.Equal(t, frame.ID, f.current(host("s")))
			kind, prompt, err := stack.CompactionPrompt(f.ctx, f.Project, host("s"), "")
			require.NoError(t, err)
			assert.Equal(t, core.FrameCompletion, kind)
			assert.Contains(t, prompt, "work")

			_, err = stack.StoreSummary(f.ctx, f.Project, host("s"), frame.ID, tt.generated)
			require.NoError(t, err)
			ended := f.get(frame.ID)
			assert.Equal(t, core.Completed, ended.Status)
			assert.Equal(t, tt.want, ended.Summary)
			assert.Equal(t, frame.Parent, f.current(host("s")))
			info, err := stack.CompactionsOf(f.ctx, f.Project, host("s"), "")
			require.NoError(t, err)
			assert.Zero(t, info.Waiting)
			assert.Empty(t, info.Marks)
		})
	}
}

func TestAPendingPopWithoutAnyTextGoesOnWaiting(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("s"), "work")
	f.popLater("")
	_, err := stack.StoreSummary(f.ctx, f.Project, host("s"), "", "  ")
	require.NoError(t, err)
	assert.Equal(t, core.InProgress, f.get(frame.ID).Status)
}

func TestAPendingPopTimesOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ user, want string }{
		"into the user's text": {"mine", "mine"},
		"into a note":          {"", "(no summary: the compaction that was to bring it did not come in time)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			frame := f.push(host("s"), "work")
			f.popLater(tt.user)
			f.clock += core.Millis((9 * time.Minute).Milliseconds())
			require.NoError(t, sweep.Once(f.ctx, f.Project))
			assert.Equal(t, core.InProgress, f.get(frame.ID).Status)
			f.clock += core.Millis((2 * time.Minute).Milliseconds())
			require.NoError(t, sweep.Once(f.ctx, f.Project))
			assert.Equal(t, core.Completed, f.get(frame.ID).Status)
			assert.Equal(t, tt.want, f.get(frame.ID).Summary)
		})
	}
}

func TestAPendingPopIsCancelledByAPopWithoutOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("s"), "work")
	f.popLater("first")
	f.pop(host("s"), "second")
	assert.Equal(t, "second", f.get(frame.ID).Summary)
	f.clock += core.Millis(time.Hour.Milliseconds())
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, "second", f.get(frame.ID).Summary)
}

func TestAReplacedSummaryStaysInTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("s"), "work")
	for _, summary := range []string{"first", "second"} {
		_, err := stack.StoreSummary(f.ctx, f.Project, host("s"), "", summary)
		require.NoError(t, err)
	}
	assert.Equal(t, "second", f.get(frame.ID).Summary)
	assert.Equal(t, core.InProgress, f.get(frame.ID).Status)
	events, err := view.Events(f.ctx, f.Project, project.EventQuery{Frame: frame.ID, Kinds: []string{core.SummaryStored}})
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.JSONEq(t, `{"replacedSummary":"first"}`, string(events[1].Data))
}

func TestSummarizeAsksAndThenKeeps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("s"), "work")
	asked, err := stack.Summarize(f.ctx, f.Project, host("s"), "", "heed the tests", "")
	require.NoError(t, err)
	assert.False(t, asked.Stored)
	assert.Contains(t, asked.Prompt, "heed the tests")
	info, err := stack.CompactionsOf(f.ctx, f.Project, host("s"), "")
	require.NoError(t, err)
	assert.Equal(t, core.ManualSummary, info.Type)
	assert.Equal(t, "heed the tests", info.Note)

	kept, err := stack.Summarize(f.ctx, f.Project, host("s"), "", "", "half is done")
	require.NoError(t, err)
	assert.True(t, kept.Stored)
	assert.Equal(t, "half is done", f.get(frame.ID).Summary)
	info, err = stack.CompactionsOf(f.ctx, f.Project, host("s"), "")
	require.NoError(t, err)
	assert.Empty(t, info.Type, "what was asked for has come")
}
