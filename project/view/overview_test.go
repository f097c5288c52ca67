package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestAnOverviewHasTheLatestDecisionsOfAllFrames(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	empty, err := view.OverviewOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Equal(t, []view.Decided{}, empty.Decisions)
	assert.Equal(t, []view.Suggested{}, empty.Suggestions)

	first := f.Push(by, "Keys")
	f.Decide(by, first.ID, "Ed25519\nand nothing else "+strings.Repeat("x", 1000))
	second := f.Push(by, "Retries")
	for i := range 20 {
		f.Tick()
		f.Decide(by, second.ID, fmt.Sprint("try ", i))
	}
	overview, err := view.OverviewOf(f.Ctx, f.Project)
	require.NoError(t, err)
	require.Len(t, overview.Decisions, 12, "it is bounded")
	assert.Equal(t, "try 19", overview.Decisions[0].Text)
	assert.Equal(t, second.ID, overview.Decisions[0].Frame)
	assert.Equal(t, "Retries", overview.Decisions[0].Goal)
	assert.Greater(t, overview.Decisions[0].At, overview.Decisions[1].At)

	f.Decide(by, first.ID, "an hour, "+strings.Repeat("x\n", 1000))
	overview, err = view.OverviewOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Equal(t, first.ID, overview.Decisions[0].Frame)
	assert.NotContains(t, overview.Decisions[0].Text, "\n")
	assert.LessOrEqual(t, len([]rune(overview.Decisions[0].Text)), 300+len([]rune("…")))
}

func TestAnOverviewHasDecisionsWithManyChangesAfterThem(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	frame := f.Push(by, "Keys")
	f.Decide(by, frame.ID, "Ed25519")
	f.Decide(by, frame.ID, "no RSA")
	for i := range 301 {
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
			return f.Step(tx, by).Emit(core.FrameUpdated, frame.ID, map[string]any{"artifacts": fmt.Sprint(i)})
		}))
	}
	overview, err := view.OverviewOf(f.Ctx, f.Project)
	require.NoError(t, err)
	want := []view.Decided{{Frame: frame.ID, Goal: "Keys", Text: "no RSA"}, {Frame: frame.ID, Goal: "Keys", Text: "Ed25519"}}
	assert.Equal(t, want, overview.Decisions)
}

func TestAnOverviewHasTheSuggestionsThatStand(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	now := f.Project.Now()
	suggestion := func(session, text string, until core.Millis) []core.Suggestion {
		return []core.Suggestion{{
			Session: session, Frame: "frame-1", Type: core.SuggestPush, Text: text, Confidence: 70, CreatedAt: now, RefreshedAt: now, ExpiresAt: now + until,
		}}
	}
	require.NoError(t, f.Project.Store.Update(f.Ctx, func(tx project.Tx) error {
		if err := tx.SaveRecord("suggestions", "a", suggestion("a", "A list of dead letters", 1_000_000)); err != nil {
			return err
		}
		return tx.SaveRecord("suggestions", "b", suggestion("b", "It is over", -1))
	}))
	overview, err := view.OverviewOf(f.Ctx, f.Project)
	require.NoError(t, err)
	require.Len(t, overview.Suggestions, 1)
	assert.Equal(t, "A list of dead letters", overview.Suggestions[0].Text)
	assert.Equal(t, 70, overview.Suggestions[0].Confidence)
}
