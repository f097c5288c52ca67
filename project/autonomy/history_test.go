package autonomy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/sweep"
	"flame/tests/projecttest"
)

// suggestPop has an end of the caller's frame suggested.
func suggestPop(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	advice, err := autonomy.ShouldPop(f.Ctx, f.Project, by, autonomy.PopArgs{Tokens: new(95_000)})
	require.NoError(f.T, err)
	require.True(f.T, advice.Queued)
}

func TestSuggestionsAreCountedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for name, tt := range map[string]struct {
		do                    func(f *projecttest.Fixture)
		total, acted, ignored int
	}{
		"pending": {func(f *projecttest.Fixture) { suggestPop(f, s) }, 1, 0, 0},
		"expired": {func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Clock += core.SuggestionLife
			require.NoError(f.T, sweep.RunOnce(f.Ctx, f.Project))
		}, 1, 0, 1},
		"found expired by the next one, before any sweep": {func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Clock += 2 * core.SuggestionLife
			suggestPop(f, s)
		}, 2, 0, 1},
		"the clock is set back by a day": {func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Clock -= project.Day
			suggestPop(f, s)
		}, 2, 0, 1},
		"acted on": {func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Pop(s, "done")
		}, 1, 1, 0},
		"cleared away": {func(f *projecttest.Fixture) {
			suggestPop(f, s)
			cleared, err := autonomy.ClearSuggestions(f.Ctx, f.Project, s)
			require.NoError(f.T, err)
			assert.Equal(f.T, 1, cleared)
		}, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Push(s, "Implement user authentication")
			tt.do(f)
			state := autonomyNow(f, s)
			assert.Equal(t, []int{tt.total, tt.acted, tt.ignored}, []int{state.Stats.TotalSuggestions, state.Stats.ActedUpon, state.Stats.Ignored})
			require.Len(t, state.History, tt.total)
			assert.Equal(t, tt.acted == 1, state.History[tt.total-1].ActedAt != 0)
		})
	}
}

func TestTheHistoryIsBoundedAndOutlivesDamage(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "Implement user authentication")
	var old []core.Suggestion
	for i := range 100 {
		old = append(old, core.Suggestion{Session: "past", Type: core.SuggestPop, Text: fmt.Sprint(i)})
	}
	save := func(history any) {
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.SaveRecord("suggestion_history", "", history) }))
	}
	save(old)
	suggestPop(f, s)
	history := autonomyNow(f, s).History
	require.Len(t, history, 50, "the newer half stays, the new one included")
	assert.Equal(t, "51", history[0].Text)

	save("no list")
	assert.Empty(t, autonomyNow(f, s).History)
	f.Pop(s, "done")
	assert.Len(t, autonomyNow(f, s).History, 1, "a new one begins")
}

func TestAHookWithoutSuggestionsCostsNothing(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "a", "Implement user authentication")
	f.Push(s, "The tokens")
	f.Rest(s, "on it")
	f.Prompt(s, "b", "Go on")
	f.Pop(s, "done")
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		for _, kind := range []string{"suggestions", "suggestion_history"} {
			require.NoError(t, tx.Records(kind, project.RecordQuery{}, func(id string, _ func(any) error) error {
				assert.Fail(t, "a record is written", "%s %q", kind, id)
				return nil
			}))
		}
		return nil
	}))
}
