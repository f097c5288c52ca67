package project_test

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
)

// strong is a question whose answer is to push.
var strong = autonomy.PushQuestion{PotentialGoal: "Set up database migrations", Errors: new(4), Tokens: new(60_000)}

func (f *fixture) autonomy(by project.Caller) autonomy.State {
	f.t.Helper()
	state, err := autonomy.StateOf(f.ctx, f.Project, by)
	require.NoError(f.t, err)
	return state
}

func TestAStrongSignalIsSuggestedToItsSessionOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "Implement user authentication")
	f.push(host("other"), "Other work")
	advice, err := autonomy.ShouldPush(f.ctx, f.Project, host("s"), strong)
	require.NoError(t, err)
	assert.True(t, advice.Recommended)
	assert.True(t, advice.Queued)
	assert.Less(t, advice.Mean, advice.NoisyOr)

	assert.Contains(t, f.context(host("s"), "").Text, "Set up database migrations")
	assert.NotContains(t, f.context(host("other"), "").Text, "Set up database migrations")
}

func TestARepeatedSuggestionIsRefreshed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "Implement user authentication")
	for range 3 {
		_, err := autonomy.ShouldPush(f.ctx, f.Project, host("s"), strong)
		require.NoError(t, err)
		f.clock += 200_000
	}
	state := f.autonomy(host("s"))
	require.Len(t, state.Pending, 1, "refreshing keeps it alive beyond 5 minutes")
	assert.Equal(t, 1, state.Stats.TotalSuggestions)
	f.clock += 200_000
	assert.Empty(t, f.autonomy(host("s")).Pending)
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Equal(t, 1, f.autonomy(host("s")).Stats.Ignored)
}

func TestAPushActsOnTheSuggestionOfItsSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "Implement user authentication")
	_, err := autonomy.ShouldPush(f.ctx, f.Project, host("s"), strong)
	require.NoError(t, err)
	f.push(host("other"), "not asked for")
	assert.Len(t, f.autonomy(host("s")).Pending, 1)

	frame := f.push(host("s"), "Set up database migrations")
	state := f.autonomy(host("s"))
	assert.Empty(t, state.Pending)
	assert.Equal(t, 1, state.Stats.ActedUpon)
	require.Len(t, state.History, 1)
	assert.NotZero(t, state.History[0].ActedAt)
	assert.Contains(t, f.kinds(frame.ID), core.SuggestionActed)
	f.clock += 1_000_000
	require.NoError(t, sweep.Once(f.ctx, f.Project))
	assert.Zero(t, f.autonomy(host("s")).Stats.Ignored, "what was acted upon is not ignored")
}

func TestManualSuggestsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "Implement user authentication")
	manual := core.AutonomyManual
	_, err := autonomy.Configure(f.ctx, f.Project, host("s"), autonomy.Patch{Level: &manual}, "", "")
	require.NoError(t, err)
	advice, err := autonomy.ShouldPush(f.ctx, f.Project, host("s"), strong)
	require.NoError(t, err)
	assert.True(t, advice.Recommended, "it answers all the same")
	assert.False(t, advice.Queued)
	assert.Empty(t, f.autonomy(host("s")).Pending)
}

func TestWhatIsNotPassedComesFromWhatWasRecorded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "Implement user authentication")
	for _, file := range []string{"a", "b", "b", "c"} {
		require.NoError(t, autonomy.NoteFiles(f.ctx, f.Project, host("s"), []string{file}))
	}
	for range 3 {
		require.NoError(t, autonomy.NoteFailure(f.ctx, f.Project, host("s")))
	}
	for i := range 21 {
		f.prompt(host("s"), fmt.Sprintf("m%d", i), "Implement user authentication")
	}
	for range 5 {
		require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{}))
	}
	advice, err := autonomy.ShouldPush(f.ctx, f.Project, host("s"), autonomy.PushQuestion{})
	require.NoError(t, err)
	assert.Equal(t, []core.HeuristicScore{
		{Name: "failure_boundary", Score: 45}, {Name: "context_switch", Score: 10}, {Name: "complexity", Score: 55}, {Name: "duration", Score: 0},
	}, advice.Scores)
	advice, err = autonomy.ShouldPush(f.ctx, f.Project, host("s"), autonomy.PushQuestion{Errors: new(0), Tokens: new(60_000)})
	require.NoError(t, err)
	assert.Zero(t, advice.Scores[0].Score, "a passed zero counts")
	assert.Equal(t, 70, advice.Scores[3].Score, "and so do passed tokens")

	pop, err := autonomy.ShouldPop(f.ctx, f.Project, host("s"), autonomy.PopQuestion{})
	require.NoError(t, err)
	assert.Equal(t, 40, pop.Scores[1].Score, "4 turns without progress")
}

func TestAPopIsNotSuggestedForARoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := stack.SetGoal(f.ctx, f.Project, host("s"), "", "Implement user authentication")
	require.NoError(t, err)
	advice, err := autonomy.ShouldPop(f.ctx, f.Project, host("s"), autonomy.PopQuestion{Tokens: new(95_000)})
	require.NoError(t, err)
	assert.True(t, advice.Recommended)
	assert.False(t, advice.Queued)
	f.push(host("s"), "below")
	advice, err = autonomy.ShouldPop(f.ctx, f.Project, host("s"), autonomy.PopQuestion{Tokens: new(95_000)})
	require.NoError(t, err)
	assert.True(t, advice.Queued)
	f.pop(host("s"), "done")
	assert.Empty(t, f.autonomy(host("s")).Pending)
}

func TestAutonomySettingsAreCheckedKeptAndReset(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := core.AutonomyLevel("odd")
	_, err := autonomy.Configure(f.ctx, f.Project, host("s"), autonomy.Patch{PushThreshold: new(10), Level: &odd}, "", "")
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = autonomy.Configure(f.ctx, f.Project, host("s"), autonomy.Patch{PushThreshold: new(10)}, "", "bogus")
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Equal(t, core.DefaultAutonomyConfig(), f.autonomy(host("s")).Config, "all or nothing")

	state, err := autonomy.Configure(f.ctx, f.Project, host("s"), autonomy.Patch{PushThreshold: new(170)}, "", "duration")
	require.NoError(t, err)
	assert.Equal(t, 100, state.Config.PushThreshold)
	assert.False(t, state.Config.Enabled("duration"))
	state, err = autonomy.Reset(f.ctx, f.Project, host("s"), true)
	require.NoError(t, err)
	assert.Equal(t, core.DefaultAutonomyConfig(), state.Config)
	assert.Empty(t, state.Changed)
}
