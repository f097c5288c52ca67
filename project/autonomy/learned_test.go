package autonomy_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/learn"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/sweep"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

var session = projecttest.Host("s")

// ignore has an end of the session's frame suggested, shown and ignored.
func ignore(f *projecttest.Fixture) {
	f.T.Helper()
	_, err := autonomy.ShouldPop(f.Ctx, f.Project, session, autonomy.PopQuestion{Tokens: new(95_000)})
	require.NoError(f.T, err)
	f.Contexts.Shown(f.Ctx, session, f.Context(session, "").Text)
	f.Clock += core.SuggestionLife
	require.NoError(f.T, sweep.Once(f.Ctx, f.Project))
}

// follow has a push suggested and made, and its frame ended with something.
func follow(f *projecttest.Fixture) {
	f.T.Helper()
	_, err := autonomy.ShouldPush(f.Ctx, f.Project, session, projecttest.Strong)
	require.NoError(f.T, err)
	f.Push(session, "Set up database migrations")
	f.Pop(session, "three migrations")
}

// subagent runs a subagent of a type, which says last at its end.
func subagent(f *projecttest.Fixture, agentType, last string) {
	f.T.Helper()
	f.Clock++
	call := fmt.Sprint("call", f.Clock)
	_, err := children.Spawn(f.Ctx, f.Project, session, children.Call{ID: call, Description: "Look", AgentType: agentType})
	require.NoError(f.T, err)
	require.NoError(f.T, children.End(f.Ctx, f.Project, session, children.Ended{
		Call: call, Session: "child-" + call, End: core.ChildCompleted, Last: last,
	}))
}

func lessons(f *projecttest.Fixture) autonomy.Lessons {
	f.T.Helper()
	l, err := autonomy.Learned(f.Ctx, f.Project)
	require.NoError(f.T, err)
	return l
}

// begin returns a project with a frame in progress.
func begin(t *testing.T) *projecttest.Fixture {
	f := projecttest.New(t)
	f.Prompt(session, "first", "Some work")
	f.Push(session, "Implement user authentication")
	return f
}

// act is one of the things from which a project learns.
func act(f *projecttest.Fixture, i int) {
	switch i % 4 {
	case 0, 1:
		ignore(f)
	case 2:
		follow(f)
	case 3:
		subagent(f, "explore", "")
	}
}

func TestIgnoredSuggestionsRaiseTheirThreshold(t *testing.T) {
	t.Parallel()
	f := begin(t)
	for range 7 {
		ignore(f)
	}
	assert.Equal(t, 80, lessons(f).Thresholds[1].To, "too little to learn from")
	ignore(f)
	pop := lessons(f).Thresholds[1]
	assert.Equal(t, 84, pop.To)
	assert.Equal(t, learn.Tally{Ignored: 8}, pop.By["context_overflow"])
	assert.Equal(t, 70, lessons(f).Thresholds[0].To, "pushes are another matter")

	state, err := autonomy.StateOf(f.Ctx, f.Project, session)
	require.NoError(t, err)
	assert.Equal(t, 80, state.Applies.PopThreshold, "a proposal changes nothing")
	f.Project.Learn.Mode = learn.On
	state, err = autonomy.StateOf(f.Ctx, f.Project, session)
	require.NoError(t, err)
	assert.Equal(t, 80, state.Config.PopThreshold, "what is set stays")
	assert.Equal(t, 84, state.Applies.PopThreshold)
	advice, err := autonomy.ShouldPop(f.Ctx, f.Project, session, autonomy.PopQuestion{})
	require.NoError(t, err)
	assert.Equal(t, 84, advice.Threshold)

	_, err = autonomy.Configure(f.Ctx, f.Project, session, autonomy.Patch{PopThreshold: new(50)}, "", "")
	require.NoError(t, err)
	assert.Equal(t, 54, lessons(f).Thresholds[1].To, "what a person sets is the centre of the bounds")
	require.NoError(t, autonomy.ForgetLearned(f.Ctx, f.Project))
	assert.Equal(t, 50, lessons(f).Thresholds[1].To)
}

func TestTheSameHistoryTeachesTheSame(t *testing.T) {
	t.Parallel()
	const many = 24
	one, again, halves := begin(t), begin(t), begin(t)
	for i := range many {
		act(one, i)
		act(again, i)
	}
	for i := range many {
		if i == many/2 { // another process goes on
			other := store.Open(halves.Data, store.Options{})
			t.Cleanup(func() { assert.NoError(t, other.Close()) })
			halves.Project.Store = storetest.Twice{Store: other, Begin: halves.Project.Store.(storetest.Twice).Begin}
		}
		act(halves, i)
	}
	assert.Equal(t, lessons(one), lessons(again))
	assert.Equal(t, lessons(one), lessons(halves))
	assert.Equal(t, learn.Tally{Ignored: many / 2}, lessons(one).Thresholds[1].All)
	assert.Equal(t, learn.Tally{Acted: many / 4}, lessons(one).Thresholds[0].All)
	assert.Equal(t, many/4, lessons(one).Titles[0].Frames.Empty)
}

func TestCountsAreExactWhenProcessesCountAtOnce(t *testing.T) {
	t.Parallel()
	f := begin(t)
	const each = 40
	var wait sync.WaitGroup
	for range 2 {
		kept := store.Open(f.Data, store.Options{})
		t.Cleanup(func() { assert.NoError(t, kept.Close()) })
		wait.Go(func() {
			for range each {
				err := kept.Update(f.Ctx, func(tx project.Tx) error {
					s := &project.Step{Tx: tx, Project: f.Project}
					return autonomy.CountSkip(s, core.SubagentTitle("work", "explore"), false)
				})
				assert.NoError(t, err)
			}
		})
	}
	wait.Wait()
	assert.Equal(t, 2*each, lessons(f).Titles[0].Frames.Skipped)
}

func TestASubagentThatIsAlwaysEmptyGetsNoFrameAtOnce(t *testing.T) {
	t.Parallel()
	f := begin(t)
	for range 12 {
		subagent(f, "explore", "")
		subagent(f, "review", "two findings")
	}
	titles := lessons(f).Titles
	require.Len(t, titles, 2)
	assert.Equal(t, learn.Drop, titles[0].Change)
	assert.Equal(t, `\(@explore subagent\)$`, titles[0].Pattern)
	assert.Equal(t, learn.Frames{Empty: 12, Short: 12, EmptyMs: titles[0].Frames.EmptyMs}, titles[0].Frames)
	assert.Empty(t, titles[1].Change)
	assert.Equal(t, 12, titles[1].Frames.Kept)

	frames := len(f.All())
	subagent(f, "explore", "")
	assert.Len(t, f.All(), frames+1, "a proposal changes nothing")
	f.Project.Learn.Mode = learn.On
	subagent(f, "explore", "")
	assert.Len(t, f.All(), frames+1)
	subagent(f, "review", "")
	assert.Len(t, f.All(), frames+2)
}

func TestASubagentThatIsAlwaysKeptGetsItsFrameAtOnce(t *testing.T) {
	t.Parallel()
	f := begin(t)
	f.Project.Subagents.SubagentPatterns = []string{"nothing"}
	f.Project.Subagents.MinDuration, f.Project.Subagents.MinMessageCount = 0, 0
	for range 12 {
		subagent(f, "review", "two findings")
	}
	titles := lessons(f).Titles
	require.Len(t, titles, 1)
	assert.Equal(t, learn.Add, titles[0].Change)
	f.Project.Subagents.MinDuration = 60_000
	f.Project.Learn.Mode = learn.On
	frames := len(f.All())
	subagent(f, "review", "two findings")
	assert.Len(t, f.All(), frames+1, "short as it was")
}

func TestOffNothingIsCountedAndNothingApplies(t *testing.T) {
	t.Parallel()
	f := begin(t)
	for range 8 {
		ignore(f)
	}
	f.Project.Learn.Mode = learn.Off
	for i := range 8 {
		act(f, i)
	}
	state, err := autonomy.StateOf(f.Ctx, f.Project, session)
	require.NoError(t, err)
	assert.Equal(t, 80, state.Applies.PopThreshold)
	assert.NotEmpty(t, state.History, "the history is there all the same")
	f.Project.Learn.Mode = learn.Suggest
	assert.Equal(t, learn.Tally{Ignored: 8}, lessons(f).Thresholds[1].All)
	assert.Empty(t, lessons(f).Titles)
}

func TestUnusableCountsAreReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"v":2,"better":[1]}`, `[]`, `{"v":1,"suggestions":{"pop":{"a":{"ignored":-5}}}}`} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			f := begin(t)
			f.Project.Learn.Mode = learn.On
			write := func(tx project.Tx) error { return tx.SaveRecord("learned", "", json.RawMessage(bad)) }
			require.NoError(t, f.Store.Update(f.Ctx, write))
			for i := range 8 {
				act(f, i)
			}
			l := lessons(f)
			assert.NotEmpty(t, l.Damage)
			assert.Equal(t, 80, l.Thresholds[1].To)
			assert.Empty(t, l.Titles)
			var kept json.RawMessage
			require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
				_, err := tx.Record("learned", "", &kept)
				return err
			}))
			assert.JSONEq(t, bad, string(kept))
			state, err := autonomy.StateOf(f.Ctx, f.Project, session)
			require.NoError(t, err)
			assert.Equal(t, 4, state.Stats.Ignored, "all else is counted")
			require.NoError(t, autonomy.ForgetLearned(f.Ctx, f.Project))
			ignore(f)
			assert.Equal(t, 1, lessons(f).Thresholds[1].All.Ignored)
		})
	}
}
