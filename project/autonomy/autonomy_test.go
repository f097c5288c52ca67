package autonomy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/tests/projecttest"
)

func autonomyNow(f *projecttest.Fixture, by project.Caller) autonomy.State {
	f.T.Helper()
	state, err := autonomy.StateOf(f.Ctx, f.Project, by)
	require.NoError(f.T, err)
	return state
}

func TestAStrongSignalIsSuggestedToItsSessionOnly(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "Implement user authentication")
	f.Push(projecttest.Host("other"), "Other work")
	advice, err := autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("s"), projecttest.Strong)
	require.NoError(t, err)
	assert.True(t, advice.Recommended)
	assert.True(t, advice.Queued)
	assert.Less(t, advice.Mean, advice.Confidence)

	assert.Contains(t, f.Context(projecttest.Host("s"), "").Text, "Set up database migrations")
	assert.NotContains(t, f.Context(projecttest.Host("other"), "").Text, "Set up database migrations")

	manual := core.AutonomyManual
	_, err = autonomy.Configure(f.Ctx, f.Project, projecttest.Host("s"), autonomy.Patch{Level: &manual}, "", "")
	require.NoError(t, err)
	advice, err = autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("other"), projecttest.Strong)
	require.NoError(t, err)
	assert.True(t, advice.Recommended, "it answers all the same")
	assert.False(t, advice.Queued)
	assert.Empty(t, autonomyNow(f, projecttest.Host("other")).Pending)
}

func TestARepeatedSuggestionIsRefreshed(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "Implement user authentication")
	for range 3 {
		_, err := autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("s"), projecttest.Strong)
		require.NoError(t, err)
		f.Clock += 200_000
	}
	state := autonomyNow(f, projecttest.Host("s"))
	require.Len(t, state.Pending, 1, "refreshing keeps it alive beyond 5 minutes")
	assert.Equal(t, 1, state.Stats.TotalSuggestions)
	f.Clock += 200_000
	assert.Empty(t, autonomyNow(f, projecttest.Host("s")).Pending)
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Equal(t, 1, autonomyNow(f, projecttest.Host("s")).Stats.Ignored)
}

func TestAPushActsOnTheSuggestionOfItsSession(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "Implement user authentication")
	_, err := autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("s"), projecttest.Strong)
	require.NoError(t, err)
	f.Push(projecttest.Host("other"), "not asked for")
	assert.Len(t, autonomyNow(f, projecttest.Host("s")).Pending, 1)

	frame := f.Push(projecttest.Host("s"), "Set up database migrations")
	state := autonomyNow(f, projecttest.Host("s"))
	assert.Empty(t, state.Pending)
	assert.Equal(t, 1, state.Stats.ActedUpon)
	require.Len(t, state.History, 1)
	assert.NotZero(t, state.History[0].ActedAt)
	assert.Contains(t, f.Kinds(frame.ID), core.SuggestionActed)
	f.Clock += 1_000_000
	require.NoError(t, sweep.RunOnce(f.Ctx, f.Project))
	assert.Zero(t, autonomyNow(f, projecttest.Host("s")).Stats.Ignored, "what was acted upon is not ignored")
}

func TestASuggestionShowsOnlyInTheFrameItIsAbout(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	about := f.Push(s, "Implement user authentication")
	_, err := autonomy.ShouldPop(f.Ctx, f.Project, s, autonomy.PopArgs{Tokens: new(95_000)})
	require.NoError(t, err)
	const shown = "FLAME SUGGESTION"
	assert.Contains(t, f.Context(s, "").Text, shown)
	child := f.Push(s, "Set up database migrations")
	assert.NotContains(t, f.Context(s, "").Text, shown, "a fresh child is not told to pop")
	assert.NotContains(t, f.Context(s, about.ID).Text, shown, "nobody works there now")
	f.Pop(s, "done")
	assert.Contains(t, f.Context(s, "").Text, shown, "it stands for the frame still")
	assert.NotContains(t, f.Context(s, child.ID).Text, shown)
	f.Pop(s, "done")
	state := autonomyNow(f, s)
	assert.Empty(t, state.Pending)
	assert.Equal(t, 1, state.Stats.ActedUpon)
}

func TestActivatingAPlannedFrameIsTheSuggestedPush(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "Implement user authentication")
	planned := f.Plan(s, "", "Set up database migrations")
	_, err := autonomy.ShouldPush(f.Ctx, f.Project, s, projecttest.Strong)
	require.NoError(t, err)
	f.Activate(s, f.Current(s))
	assert.Len(t, autonomyNow(f, s).Pending, 1, "the frame itself is not what was suggested")
	f.Activate(s, planned[0].ID)
	state := autonomyNow(f, s)
	assert.Empty(t, state.Pending)
	assert.Equal(t, 1, state.Stats.ActedUpon)
}

func TestMissingArgumentsComeFromTheRecordedActivity(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "Implement user authentication")
	for _, file := range []string{"a", "b", "b", "c"} {
		require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{file}))
	}
	for range 3 {
		require.NoError(t, stack.NoteFailure(f.Ctx, f.Project, projecttest.Host("s")))
	}
	for i := range 21 {
		f.Prompt(projecttest.Host("s"), fmt.Sprintf("m%d", i), "Implement user authentication")
	}
	for range 5 {
		require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{}))
	}
	advice, err := autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("s"), autonomy.PushArgs{})
	require.NoError(t, err)
	assert.Equal(t, []core.HeuristicScore{
		{Name: "failure_boundary", Score: 45, Facts: "errors 3"}, {Name: "context_switch", Score: 10, Facts: "files 3"},
		{Name: "complexity", Score: 55, Facts: "messages 21, files 3"}, {Name: "duration", Score: 0, Facts: "tokens 0"},
	}, advice.Scores)
	advice, err = autonomy.ShouldPush(f.Ctx, f.Project, projecttest.Host("s"), autonomy.PushArgs{Errors: new(0), Tokens: new(60_000)})
	require.NoError(t, err)
	assert.Zero(t, advice.Scores[0].Score, "a passed zero counts")
	assert.Equal(t, 70, advice.Scores[3].Score, "and so do passed tokens")

	pop, err := autonomy.ShouldPop(f.Ctx, f.Project, projecttest.Host("s"), autonomy.PopArgs{})
	require.NoError(t, err)
	assert.Equal(t, 40, pop.Scores[1].Score, "4 turns without progress")
}

func TestAPopIsNotSuggestedForARoot(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	_, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("s"), "", "Implement user authentication", "")
	require.NoError(t, err)
	advice, err := autonomy.ShouldPop(f.Ctx, f.Project, projecttest.Host("s"), autonomy.PopArgs{Tokens: new(95_000)})
	require.NoError(t, err)
	assert.True(t, advice.Recommended)
	assert.False(t, advice.Queued)
	f.Push(projecttest.Host("s"), "below")
	advice, err = autonomy.ShouldPop(f.Ctx, f.Project, projecttest.Host("s"), autonomy.PopArgs{Tokens: new(95_000)})
	require.NoError(t, err)
	assert.True(t, advice.Queued)
	f.Pop(projecttest.Host("s"), "done")
	assert.Empty(t, autonomyNow(f, projecttest.Host("s")).Pending)
}

func TestAutonomySettingsAreCheckedKeptAndReset(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	odd := core.AutonomyLevel("odd")
	_, err := autonomy.Configure(f.Ctx, f.Project, projecttest.Host("s"), autonomy.Patch{PushThreshold: new(10), Level: &odd}, "", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = autonomy.Configure(f.Ctx, f.Project, projecttest.Host("s"), autonomy.Patch{PushThreshold: new(10)}, "", "bogus")
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Equal(t, core.DefaultAutonomyConfig(), autonomyNow(f, projecttest.Host("s")).Config, "all or nothing")

	state, err := autonomy.Configure(f.Ctx, f.Project, projecttest.Host("s"), autonomy.Patch{PushThreshold: new(170)}, "", "duration")
	require.NoError(t, err)
	assert.Equal(t, 100, state.Config.PushThreshold)
	assert.False(t, state.Config.Enabled("duration"))
	state, err = autonomy.Reset(f.Ctx, f.Project, projecttest.Host("s"), true)
	require.NoError(t, err)
	assert.Equal(t, core.DefaultAutonomyConfig(), state.Config)
	assert.Empty(t, state.Changed)
}

// The first description's formula decides where an agent asks, and facts that it passes count.
func TestAnAskedAnswerFollowsTheFactsThatAreGiven(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "outer")
	f.Push(s, "Implement user authentication")
	push, err := autonomy.ShouldPush(f.Ctx, f.Project, s, autonomy.PushArgs{
		PotentialGoal: "Design the billing database", Messages: new(25), Files: &[]string{"a", "b", "c", "d", "e", "f"}, Errors: new(4), Tokens: new(60_000),
	})
	require.NoError(t, err)
	assert.Equal(t, []any{true, 100, 75}, []any{push.Recommended, push.Confidence, push.Mean}, "80, 80, 70 and 70 are a clear yes")
	for name, tt := range map[string]struct {
		q      autonomy.PopArgs
		yes    bool
		status core.Status
	}{
		"no progress and failures": {autonomy.PopArgs{NoProgressTurns: new(6), FailureSignals: []string{"a", "b", "c", "d"}}, true, core.Failed},
		"a full default window":    {autonomy.PopArgs{Tokens: new(95_000)}, true, core.Completed},
		"half of a larger one":     {autonomy.PopArgs{Tokens: new(95_000), ContextLimit: 200_000}, false, core.Completed},
		"nothing":                  {autonomy.PopArgs{}, false, core.Completed},
	} {
		pop, err := autonomy.ShouldPop(f.Ctx, f.Project, s, tt.q)
		require.NoError(t, err)
		assert.Equal(t, []any{tt.yes, tt.status}, []any{pop.Recommended, pop.Status}, name)
	}
}
