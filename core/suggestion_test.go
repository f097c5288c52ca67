package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestRepeatedSuggestionsAreRefreshed(t *testing.T) {
	t.Parallel()
	first := core.Suggestion{Type: core.SuggestPush, Text: "goal", Confidence: 70, Reason: "duration"}
	list, added := core.AddSuggestion(nil, first, now)
	assert.True(t, added)
	again := first
	again.Confidence, again.Reason = 90, "complexity"
	before := list
	list, added = core.AddSuggestion(list, again, now+1000)
	assert.False(t, added)
	require.Len(t, list, 1)
	assert.Equal(t, 90, list[0].Confidence)
	assert.Equal(t, "complexity", list[0].Reason)
	assert.Equal(t, []core.Millis{now, now + 1000, now + 301_000}, []core.Millis{list[0].CreatedAt, list[0].RefreshedAt, list[0].ExpiresAt})
	assert.Equal(t, 70, before[0].Confidence, "the list given stays as it was")
	list, added = core.AddSuggestion(list, core.Suggestion{Type: core.SuggestPop, Status: core.Completed}, now)
	assert.True(t, added, "another type is another suggestion")
	assert.Len(t, list, 2)
}

func TestTheWeakestSuggestionGoes(t *testing.T) {
	t.Parallel()
	var list []core.Suggestion
	for i, confidence := range []int{80, 75, 90, 75, 85, 95} {
		list, _ = core.AddSuggestion(
			list, core.Suggestion{Frame: fmt.Sprint(i), Type: core.SuggestPush, Text: fmt.Sprint(i), Confidence: confidence}, now+core.Millis(i),
		)
	}
	var left []string
	for _, s := range list {
		left = append(left, s.Text)
	}
	assert.Equal(t, []string{"0", "2", "3", "4", "5"}, left, "of the two weakest the older one")
}

func TestOneSuggestionOfATypeStandsAboutAFrame(t *testing.T) {
	t.Parallel()
	list, _ := core.AddSuggestion(nil, core.Suggestion{Frame: "f", Type: core.SuggestPop, Status: core.Completed}, now)
	list, _ = core.AddSuggestion(list, core.Suggestion{Frame: "g", Type: core.SuggestPop, Status: core.Completed}, now)
	list, added := core.AddSuggestion(list, core.Suggestion{Frame: "f", Type: core.SuggestPop, Status: core.Failed}, now)
	assert.True(t, added)
	require.Len(t, list, 2, "a contradictory one takes the place of the one before")
	assert.Equal(t, []core.Status{core.Completed, core.Failed}, []core.Status{list[0].Status, list[1].Status})
}

func TestSuggestionsExpireAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	list, _ := core.AddSuggestion(nil, core.Suggestion{Type: core.SuggestPush, Text: "old"}, now)
	list, _ = core.AddSuggestion(list, core.Suggestion{Frame: "f", Type: core.SuggestPush, Text: "new"}, now+1)
	live := func(now core.Millis) (texts []string) {
		for _, s := range list {
			if s.Live(now) {
				texts = append(texts, s.Text)
			}
		}
		return texts
	}
	assert.Equal(t, []string{"old", "new"}, live(now+300_000))
	assert.Equal(t, []string{"new"}, live(now+300_001))
	assert.Empty(t, live(now-300_001), "one from the future has no known age")
}

func TestActOnTakesWhatIsAboutTheFrame(t *testing.T) {
	t.Parallel()
	pop := core.Suggestion{Frame: "f", Type: core.SuggestPop}
	push := core.Suggestion{Frame: "f", Type: core.SuggestPush, Text: "a"}
	other := core.Suggestion{Frame: "g", Type: core.SuggestPush, Text: "b"}
	list := []core.Suggestion{pop, other, push}
	left, acted, ok := core.ActOn(list, "f", core.SuggestPush, now)
	require.True(t, ok)
	push.ActedAt = now
	assert.Equal(t, push, acted)
	assert.Equal(t, []core.Suggestion{pop, other}, left)
	assert.Zero(t, list[2].ActedAt, "the list given stays as it was")
	_, _, ok = core.ActOn(left, "f", core.SuggestPush, now)
	assert.False(t, ok)
}

func TestSuggestionsComeFromEvaluations(t *testing.T) {
	t.Parallel()
	push := core.EvaluatePush(core.PushInput{Tokens: 60_000}, core.DefaultAutonomyConfig()).Suggestion("s1", "f", now)
	assert.Equal(t, core.Suggestion{
		Session: "s1", Frame: "f", Type: core.SuggestPush, Text: "the next piece of work", Reason: "duration", Confidence: 70,
		CreatedAt: now, RefreshedAt: now, ExpiresAt: now + core.SuggestionLife,
	}, push)
	pop := core.EvaluatePop(core.PopInput{NoProgressTurns: 6}, core.DefaultAutonomyConfig()).Suggestion("s1", "f", now)
	assert.Equal(t, core.Blocked, pop.Status)
}

func TestFormatSuggestions(t *testing.T) {
	t.Parallel()
	assert.Empty(t, core.FormatSuggestions(nil))
	assert.Equal(t, `<!-- Flame Autonomy Suggestions -->
[FLAME SUGGESTION: Consider pushing a new frame for "refactor auth" - Reason: context switch (75% confidence)]
[FLAME SUGGESTION: Consider popping the current frame as "failed" - Reason: stagnation (110% confidence)]
[FLAME SUGGESTION: Consider pushing a new frame for "a&quot; (x) b" - Reason: r (1% confidence)]`,
		core.FormatSuggestions([]core.Suggestion{
			{Type: core.SuggestPush, Text: "refactor auth", Reason: "context switch", Confidence: 75},
			{Type: core.SuggestPop, Status: core.Failed, Reason: "stagnation", Confidence: 110},
			{Type: core.SuggestPush, Text: "a\" [x]\nb", Reason: "r", Confidence: 1},
		}))
}
