package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

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
