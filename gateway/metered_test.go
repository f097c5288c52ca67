package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/projecttest"
	"flame/project/usage"
	"flame/project/view"
	"flame/tests/model"
)

// costing is a turn with a usage of its own.
func costing(n int, turn model.Turn) model.Turn {
	turn.Usage = model.Usage{Input: 1_000 + n, Output: 100 + n, CacheRead: 10_000 + n, Cached5m: 500 + n}
	return turn
}

func TestEachRequestIsMeteredToTheToken(t *testing.T) {
	t.Parallel()
	turns := []model.Turn{push("one"), read("a"), read("b"), pop("did one"), read("c"), {Thinking: "end", Text: "all done"}}
	want := core.Usage{}
	for i := range turns {
		turns[i] = costing(i, turns[i])
		want = want.Add(core.Usage{
			TokensIn: int64(1_000 + i), TokensOut: int64(100 + i), CacheRead: int64(10_000 + i), CacheWritten: int64(500 + i),
		})
	}
	c := newTalk(t, turns...)
	s := projecttest.Host("s")
	c.f.Prompt(s, "p1", "work")
	c.say("work")
	c.round()
	refused := c.post("/v1/messages", []byte(`{}`), nil)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)
	c.stop() // it stores what is left

	stats, err := view.StatsOf(c.f.Ctx, c.f.Project)
	require.NoError(t, err)
	require.Len(t, stats.Metered, 1)
	main := stats.Metered[0]
	assert.Equal(t, []any{"main", len(turns) + 1, 1}, []any{main.Class, main.Requests, main.Failed})
	sent := int64(2) // of the one that is refused
	for _, r := range c.model.Requests() {
		if r.Refused == nil && r.Actor != "" {
			sent += int64(r.Bytes)
		}
	}
	assert.Equal(t, sent, main.Sent)
	assert.Greater(t, main.Given, main.Sent, "one frame was folded")
	cost := main.Usage.CostUSD
	assert.Positive(t, cost)
	want.CostUSD = cost
	assert.Equal(t, want, main.Usage)
	assert.InDelta(t, cost, stats.Usage.CostUSD, 1e-9)
	stats.Usage.CostUSD = cost
	assert.Equal(t, want, stats.Usage, "and is in the frames")

	events, err := view.Events(c.f.Ctx, c.f.Project, project.EventQuery{Kinds: []string{core.RequestAnswered}})
	require.NoError(t, err)
	require.Len(t, events, len(turns)+1)
	inner := events[1].Frame // the second request was asked in the frame that the first made
	details, err := view.DetailsOf(c.f.Ctx, c.f.Project, s, inner)
	require.NoError(t, err)
	assert.Equal(t, "one", details.Frame.Goal)
	assert.Equal(t, 3, usage.Sum(details.Metered).Requests, "two reads and the pop")
}
