package core_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestScoresTakeTheFutureForNow(t *testing.T) {
	t.Parallel()
	f := aFrame("f", core.Completed, "goal", -1000)
	assert.InDelta(t, core.ScoreAncestor(aFrame("f", core.Completed, "goal", 0), 1, now), core.ScoreAncestor(f, 1, now), 0)
	assert.InDelta(t, core.ScoreSibling(aFrame("f", core.Completed, "goal", 0), "goal", now), core.ScoreSibling(f, "goal", now), 0)
}

func TestScoreSiblingMatchesWholeWordsAndPartsOfPaths(t *testing.T) {
	t.Parallel()
	const plain = 120 // changed just now, completed
	tests := map[string]struct {
		change func(*core.Frame)
		goal   string
		want   float64
	}{
		"a word within a longer one":                {func(f *core.Frame) { f.Goal = "superuser users" }, "user", plain},
		"a word beside punctuation":                 {func(f *core.Frame) { f.Goal = "(User)!" }, "user", plain + 20},
		"a word that first occurs within another":   {func(f *core.Frame) { f.Goal = "superuser or user" }, "user", plain + 20},
		"a keyword counts once in a goal":           {func(f *core.Frame) { f.Goal = "user user" }, "user user", plain + 20},
		"a word in another script":                  {func(f *core.Frame) { f.Goal = "вход для всех" }, "починить Вход", plain + 20},
		"a summary counts by itself and its words":  {func(f *core.Frame) { f.Summary = "the user" }, "user", plain + 30 + 10},
		"artifacts count by themselves and by part": {func(f *core.Frame) { f.Artifacts = []string{"SuperUser.go"} }, "user", plain + 15 + 25},
		"stop words match nothing":                  {func(f *core.Frame) { f.Goal = "the and of" }, "the and of", plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := with(aFrame("f", core.Completed, "", 0), tt.change)
			assert.InDelta(t, tt.want, core.ScoreSibling(f, tt.goal, now), 0)
		})
	}
}

func TestSelectAncestorsAlwaysHasTheParent(t *testing.T) {
	t.Parallel()
	parent := with(aFrame("p", core.InProgress, "g", 0), func(f *core.Frame) { f.Summary = strings.Repeat("x", 9000) })
	ancestors := []core.Frame{parent, aFrame("g", core.InProgress, "goal", 0)}
	s := core.SelectAncestors(ancestors, 100, now)
	assert.Equal(t, []string{"p"}, idsOf(s.Frames))
	assert.Equal(t, 100, s.Tokens, "it is charged the budget, no more")
	assert.Equal(t, 1, s.Left)
	assert.Equal(t, []string{"p"}, idsOf(core.SelectAncestors(ancestors, -5, now).Frames))
}
