package autonomy_test

import (
	"errors"
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

// suggestPop has an end of the caller's frame suggested, which no agent has seen then.
func suggestPop(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	advice, err := autonomy.ShouldPop(f.Ctx, f.Project, by, autonomy.PopQuestion{Tokens: new(95_000)})
	require.NoError(f.T, err)
	require.True(f.T, advice.Queued)
}

func suggestPush(f *projecttest.Fixture, by project.Caller, goal string) {
	f.T.Helper()
	advice, err := autonomy.ShouldPush(f.Ctx, f.Project, by, autonomy.PushQuestion{PotentialGoal: goal, Errors: new(4), Tokens: new(60_000)})
	require.NoError(f.T, err)
	require.True(f.T, advice.Queued)
}

// shown has the caller's agent get its context.
func shown(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	f.Contexts.Shown(f.Ctx, by, f.Context(by, "").Text)
}

// expire lets five minutes pass.
func expire(f *projecttest.Fixture) {
	f.T.Helper()
	f.Clock += core.SuggestionLife
	require.NoError(f.T, sweep.Once(f.Ctx, f.Project))
}

// atAuto has flame do what is due in the caller's session.
func atAuto(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	auto := core.AutonomyAuto
	_, err := autonomy.Configure(f.Ctx, f.Project, by, autonomy.Patch{Level: &auto}, "", "")
	require.NoError(f.T, err)
}

// autoPush has flame start a frame by itself, and returns it.
func autoPush(f *projecttest.Fixture, by project.Caller) core.Frame {
	f.T.Helper()
	f.Push(by, "Implement user authentication")
	atAuto(f, by)
	for range 4 {
		require.NoError(f.T, autonomy.NoteFailure(f.Ctx, f.Project, by))
	}
	f.Prompt(by, fmt.Sprint(f.Clock), "Set up database migrations for billing")
	made := f.Get(f.Current(by))
	require.Equal(f.T, "Set up database migrations for billing", made.Goal)
	return made
}

// autoPop has flame end a frame by itself, and returns it.
func autoPop(f *projecttest.Fixture, by project.Caller) core.Frame {
	f.T.Helper()
	f.Prompt(by, "first", "Some work")
	frame := f.Push(by, "Implement user authentication")
	atAuto(f, by)
	_, err := autonomy.Configure(f.Ctx, f.Project, by, autonomy.Patch{PopThreshold: new(60)}, "", "")
	require.NoError(f.T, err)
	for i := range 20 {
		if f.Get(frame.ID).Status != core.InProgress {
			return f.Get(frame.ID)
		}
		f.Prompt(by, fmt.Sprint(f.Clock), "Go on")
		require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.Turn{LastMessage: fmt.Sprint("still stuck ", i), Running: []string{}}))
	}
	require.Fail(f.T, "flame did not end the frame")
	return frame
}

func TestTheHistoryShowsTheOutcomeOfEachSuggestion(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]struct {
		do    func(f *projecttest.Fixture)
		want  []core.Outcome
		shown bool // the first
	}{
		"pending": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
		}, want: []core.Outcome{""}},
		"shown in a context": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			shown(f, s)
		}, want: []core.Outcome{""}, shown: true},
		"a context that nobody gets shows nothing": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Context(s, "")
		}, want: []core.Outcome{""}},
		"nor does the context of another session": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Push(projecttest.Host("other"), "Other work")
			shown(f, projecttest.Host("other"))
		}, want: []core.Outcome{""}},
		"shown in a briefing": {do: func(f *projecttest.Fixture) {
			f.Prompt(s, "p", "Go on")
			suggestPop(f, s)
			f.Prompt(s, "q", "Go on")
		}, want: []core.Outcome{""}, shown: true},
		"ignored": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			shown(f, s)
			expire(f)
		}, want: []core.Outcome{core.Ignored}, shown: true},
		"expired unseen": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			expire(f)
		}, want: []core.Outcome{core.Unseen}},
		"acted on": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Pop(s, "done")
		}, want: []core.Outcome{core.Acted}},
		"replaced by a newer one": {do: func(f *projecttest.Fixture) {
			suggestPush(f, s, "Set up database migrations")
			suggestPush(f, s, "Rework the billing page")
		}, want: []core.Outcome{core.Replaced, ""}},
		"refreshed": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			shown(f, s)
			f.Clock += 200_000
			suggestPop(f, s)
			expire(f)
		}, want: []core.Outcome{core.Ignored}, shown: true},
		"cleared away": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			_, err := autonomy.ClearSuggestions(f.Ctx, f.Project, s)
			require.NoError(f.T, err)
		}, want: []core.Outcome{core.Dropped}},
		"found expired by the next one, before any sweep": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			shown(f, s)
			f.Clock += 2 * core.SuggestionLife
			suggestPop(f, s)
		}, want: []core.Outcome{core.Ignored, ""}, shown: true},
		"the clock is set back by a day": {do: func(f *projecttest.Fixture) {
			suggestPop(f, s)
			f.Clock -= project.Day
			suggestPop(f, s)
		}, want: []core.Outcome{core.Unseen, ""}},
		"a suggested frame ends with something": {do: func(f *projecttest.Fixture) {
			suggestPush(f, s, "Set up database migrations")
			f.Push(s, "Set up database migrations")
			f.Pop(s, "three migrations")
		}, want: []core.Outcome{core.Acted}},
		"a suggested frame ends empty": {do: func(f *projecttest.Fixture) {
			suggestPush(f, s, "Set up database migrations")
			f.Push(s, "Set up database migrations")
			f.Pop(s, "")
		}, want: []core.Outcome{core.Undone}},
		"a suggested frame is invalidated before anything was done": {do: func(f *projecttest.Fixture) {
			suggestPush(f, s, "Set up database migrations")
			f.Push(s, "Set up database migrations")
			_, err := stack.Invalidate(f.Ctx, f.Project, s, "", "not that")
			require.NoError(f.T, err)
		}, want: []core.Outcome{core.Undone}},
		"a suggested frame that others work below is not empty": {do: func(f *projecttest.Fixture) {
			suggestPush(f, s, "Set up database migrations")
			f.Push(s, "Set up database migrations")
			f.Plan(s, "", "write the first")
			f.Pop(s, "")
		}, want: []core.Outcome{core.Acted}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Push(s, "Implement user authentication")
			tt.do(f)
			history := autonomyNow(f, s).History
			var got []core.Outcome
			for _, h := range history {
				got = append(got, h.Outcome)
				assert.Equal(t, h.Outcome != "", h.EndedAt != 0, "what ended has a time")
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.shown, history[0].ShownAt != 0)
		})
	}
}

func TestFlamesOwnMovesCanBeUndone(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	tests := map[string]struct {
		do   func(f *projecttest.Fixture)
		want core.Outcome
	}{
		"a push stands": {func(f *projecttest.Fixture) { autoPush(f, s) }, core.Done},
		"a push is popped at once, with a word of regret": {func(f *projecttest.Fixture) {
			autoPush(f, s)
			f.Pop(s, "not needed")
		}, core.Undone},
		"a push is popped after a while, with what was found": {func(f *projecttest.Fixture) {
			autoPush(f, s)
			f.Clock += 100_000
			f.Pop(s, "the schema has three tables")
		}, core.Done},
		"a push is popped after something was made": {func(f *projecttest.Fixture) {
			autoPush(f, s)
			require.NoError(f.T, autonomy.NoteFiles(f.Ctx, f.Project, s, []string{"a.sql"}))
			f.Pop(s, "")
		}, core.Done},
		"a push is invalidated": {func(f *projecttest.Fixture) {
			autoPush(f, s)
			_, err := stack.Invalidate(f.Ctx, f.Project, s, "", "not that")
			require.NoError(f.T, err)
		}, core.Undone},
		"a push is left for another frame": {func(f *projecttest.Fixture) {
			autoPush(f, s)
			f.Activate(s, f.Plan(projecttest.Shell, f.Get(f.Current(s)).Parent, "Another")[0].ID)
		}, core.Undone},
		"a push is left after something was done in it": {func(f *projecttest.Fixture) {
			made := autoPush(f, s)
			f.Decide(s, made.ID, "use goose")
			f.Activate(s, f.Plan(projecttest.Shell, made.Parent, "Another")[0].ID)
		}, core.Done},
		"a pop stands": {func(f *projecttest.Fixture) { autoPop(f, s) }, core.Done},
		"a pop is followed by more work in the frame": {func(f *projecttest.Fixture) {
			f.Activate(s, autoPop(f, s).ID)
		}, core.Undone},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			tt.do(f)
			state := autonomyNow(f, s)
			require.NotEmpty(t, state.History)
			last := state.History[len(state.History)-1]
			assert.Equal(t, tt.want, last.Outcome)
			undone := 0
			if tt.want == core.Undone {
				undone = 1
			}
			assert.Equal(t, undone, state.Stats.Undone)
			assert.Equal(t, 1, state.Stats.AutoPushes+state.Stats.AutoPops, "it stays counted as done")
		})
	}
}

func TestTheHistoryStaysBoundedAndConsistent(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "Implement user authentication")
	const many = 120
	for i := range many {
		suggestPush(f, s, fmt.Sprintf("Set up database migrations %d", i))
		f.Push(s, fmt.Sprintf("Set up database migrations %d", i))
	}
	state := autonomyNow(f, s)
	assert.LessOrEqual(t, len(state.History), 100)
	assert.Equal(t, many, state.Stats.ActedUpon)
	followed := 0
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		return tx.Records("suggestion_followed", project.Which{}, func(string, func(any) error) error {
			followed++
			return nil
		})
	}))
	assert.LessOrEqual(t, followed, len(state.History), "nothing is kept that the history forgot")
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
		for _, kind := range []string{"suggestions", "suggestion_history", "suggestion_followed", "learned"} {
			require.NoError(t, tx.Records(kind, project.Which{}, func(id string, _ func(any) error) error {
				assert.Fail(t, "a record is written", "%s %q", kind, id)
				return nil
			}))
		}
		return nil
	}))
}

// Older versions of flame kept the history in one record.
func TestAHistoryOfAnOlderVersionContinues(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Push(s, "Implement user authentication")
	suggestPush(f, s, "Set up database migrations")
	standing := autonomyNow(f, s).History
	require.Len(t, standing, 1)
	var old []core.Suggestion
	for i := range 99 {
		old = append(old, core.Suggestion{Session: "past", Type: core.SuggestPop, Text: fmt.Sprint(i), Outcome: core.Ignored})
	}
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return errors.Join(tx.DeleteRecord("suggestion_history", "0000000001"), tx.SaveRecord("suggestion_history", "", append(old, standing...)))
	}))
	assert.Len(t, autonomyNow(f, s).History, 100)

	f.Push(s, "Set up database migrations")
	history := autonomyNow(f, s).History
	assert.Len(t, history, 100)
	assert.Equal(t, core.Acted, history[99].Outcome, "the entry in the old record is found")

	suggestPush(f, s, "Rework the billing page")
	history = autonomyNow(f, s).History
	require.Len(t, history, 50, "the newer half stays, the new one included")
	assert.Equal(t, "51", history[0].Text)
	assert.Equal(t, "Rework the billing page", history[49].Text)
}
