package learn_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/learn"
)

func tallied(t learn.Tally) learn.Counts {
	return learn.Counts{V: learn.Version, Suggestions: map[core.SuggestionType]map[string]learn.Tally{core.SuggestPush: {"duration": t}}}
}

func TestThresholdsFollowClearEvidenceOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tally  learn.Tally
		bounds int
		want   int
	}{
		"nothing":                             {bounds: 10, want: 70},
		"seven ignored are too few":           {learn.Tally{Ignored: 7}, 10, 70},
		"eight ignored":                       {learn.Tally{Ignored: 8}, 10, 74},
		"eight undone count as much":          {learn.Tally{Undone: 8}, 10, 74},
		"very many ignored reach the bounds":  {learn.Tally{Ignored: 1000}, 10, 80},
		"eight acted on":                      {learn.Tally{Acted: 8}, 10, 66},
		"very many acted on reach the bounds": {learn.Tally{Acted: 1000}, 10, 60},
		"as many acted on as ignored":         {learn.Tally{Acted: 50, Ignored: 50}, 10, 70},
		"what flame did is no approval":       {learn.Tally{Done: 1000}, 10, 70},
		"but it was not taken back either":    {learn.Tally{Done: 100, Undone: 8}, 10, 70},
		"most of what it did was taken back":  {learn.Tally{Done: 10, Undone: 90}, 10, 77},
		"without room":                        {learn.Tally{Ignored: 1000}, 0, 70},
		"no further than a hundred":           {learn.Tally{Ignored: 1000}, 100, 100},
		"never to nothing":                    {learn.Tally{Acted: 1000}, 100, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tallied(tt.tally).Threshold(core.SuggestPush, 70, tt.bounds)
			assert.Equal(t, tt.want, got.To)
			assert.Equal(t, got.To != 70, got.Rule != "", "what moves has a rule")
			assert.Equal(t, 70, tallied(tt.tally).Threshold(core.SuggestPop, 70, tt.bounds).To, "pops are another matter")
		})
	}
}

func TestThresholdsStayInBoundsAndAreMonotone(t *testing.T) {
	t.Parallel()
	const limit = 14
	to := func(a, d, i, u, from, bounds int) int {
		return tallied(learn.Tally{Acted: a, Done: d, Ignored: i, Undone: u}).Threshold(core.SuggestPush, from, bounds).To
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, d, i, u := random.IntN(limit), random.IntN(limit), random.IntN(limit), random.IntN(limit)
		if random.IntN(4) == 0 {
			a, i = a*random.IntN(1000), i*random.IntN(1000)
		}
		from, bounds := random.IntN(101), random.IntN(101)
		at := to(a, d, i, u, from, bounds)
		said := fmt.Sprintf("acted %d, done %d, ignored %d, undone %d, from %d, bounds %d", a, d, i, u, from, bounds)
		require.GreaterOrEqual(t, at, max(from-bounds, min(from, 1)), said)
		require.LessOrEqual(t, at, min(from+bounds, 100), said)
		require.GreaterOrEqual(t, to(a, d, i+1, u, from, bounds), at, "one more ignored, %s", said)
		require.GreaterOrEqual(t, to(a, d, i, u+1, from, bounds), at, "one more undone, %s", said)
		require.LessOrEqual(t, to(a+1, d, i, u, from, bounds), at, "one more acted on, %s", said)
	}
}

func TestTitlesFollowClearEvidenceOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		frames  learn.Frames
		matches bool
		want    learn.Change
	}{
		"a type that is always empty and short":      {learn.Frames{Empty: 12, Short: 12}, true, learn.Drop},
		"too few":                                    {learn.Frames{Empty: 9, Short: 9}, true, ""},
		"empty, but long":                            {learn.Frames{Empty: 40, Short: 10}, true, ""},
		"now and then kept":                          {learn.Frames{Empty: 12, Short: 12, Kept: 4}, true, ""},
		"a type without a pattern, always kept":      {learn.Frames{Kept: 12}, false, learn.Add},
		"kept if long, but most are not":             {learn.Frames{Kept: 12, Skipped: 12}, false, ""},
		"always kept, and a pattern matches already": {learn.Frames{Kept: 100}, true, ""},
		"empty, and no pattern matches anyway":       {learn.Frames{Empty: 100, Short: 100}, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := learn.Counts{V: learn.Version, Subagents: map[string]learn.Frames{"a.b(c": tt.frames, "": tt.frames}}
			titles := c.Titles(func(string) bool { return tt.matches })
			require.Len(t, titles, 2)
			assert.Empty(t, titles[0].Change, "without a type there is nothing to make a pattern of")
			assert.Equal(t, tt.want, titles[1].Change)
			if tt.want != "" {
				assert.Equal(t, `\(@a\.b\(c subagent\)$`, titles[1].Pattern)
				assert.True(t, titles[1].Matches("Look (@a.b(c subagent)"))
				assert.False(t, titles[1].Matches("Look (@aXb(c subagent)"))
				assert.False(t, titles[1].Matches("(@a.b(c subagent) is what I look for"))
			}
		})
	}
}

func TestCountsHaveEachThingOnce(t *testing.T) {
	t.Parallel()
	c := learn.Counts{V: learn.Version}
	c.Suggestion(core.SuggestPush, "duration", "", core.Done)
	c.Suggestion(core.SuggestPush, "duration", "", core.Acted)
	c.Suggestion(core.SuggestPush, "duration", core.Done, core.Undone)
	c.Suggestion(core.SuggestPush, "duration", "", core.Unseen)
	assert.Equal(t, learn.Tally{Acted: 1, Undone: 1}, c.Suggestions[core.SuggestPush]["duration"])
	c.Ended("look", learn.Frame{Kept: true, Duration: 500})
	c.Ended("look", learn.Frame{Short: true, Duration: -1})
	c.Ended("look", learn.Frame{Duration: 1 << 50})
	c.Skipped("look", false)
	c.Skipped("look", false)
	c.Skipped("look", true)
	assert.Equal(t, learn.Frames{Kept: 1, Empty: 2, Short: 1, Skipped: 1, KeptMs: 500, EmptyMs: 24 * 60 * 60 * 1000}, c.Subagents["look"])
}

func TestCountsStaySmallWhateverNamesOccur(t *testing.T) {
	t.Parallel()
	c := learn.Counts{V: learn.Version}
	for i := range 10_000 {
		c.Ended(fmt.Sprintf("type %d", i), learn.Frame{Kept: true})
		c.Suggestion(core.SuggestPop, fmt.Sprintf("signal %d", i), "", core.Ignored)
		if i%10 == 0 {
			c.Ended("frequent", learn.Frame{})
		}
		c.Ended(strings.Repeat("x", 1<<10), learn.Frame{})
		c.Ended("two\nlines \x00\x1b[31m", learn.Frame{})
	}
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Less(t, len(raw), 16_000)
	assert.Equal(t, 1000, c.Subagents["frequent"].Empty, "what occurs often stays")
	assert.Equal(t, 20_000, c.Subagents[""].Empty, "what is no name is counted without one")
}

func TestWhatWasCountedIsReadOrRefused(t *testing.T) {
	t.Parallel()
	c := tallied(learn.Tally{Acted: 3, Ignored: 2})
	c.Ended("look", learn.Frame{Kept: true, Duration: 5})
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	got, err := learn.Decode(raw)
	require.NoError(t, err)
	assert.Equal(t, c, got)
	for _, bad := range []string{
		``, `{`, `[]`, `null`, `{}`, `{"v":2}`, `{"v":0}`, `{"v":"1"}`, `{"v":1,"suggestions":[]}`, `{"v":1,"suggestions":{"push":{"a":{"acted":-1}}}}`,
		`{"v":1,"suggestions":{"push":{"a":{"acted":1e300}}}}`, `{"v":1,"subagents":{"a":{"empty":1,"short":2}}}`, "\xff\x00",
		`{"v":1,"subagents":{"a":{"kept":9223372036854775807}}}`,
	} {
		got, err := learn.Decode([]byte(bad))
		assert.Error(t, err, bad)
		assert.Empty(t, got, bad)
	}
}
