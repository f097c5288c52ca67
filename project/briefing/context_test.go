package briefing_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestContextShowsGoalsAboveAndOutcomesBesideAndBelow(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "PARENT")
	f.Push(projecttest.Host("s"), "UNCLE")
	f.Pop(projecttest.Host("s"), "UNCLE_SUMMARY")
	f.Push(projecttest.Host("s"), "MIDDLE")
	f.Push(projecttest.Host("s"), "SIBLING")
	f.Decide(projecttest.Host("s"), "", "SIBLING_DECISION")
	f.Pop(projecttest.Host("s"), "SIBLING_SUMMARY")
	f.Push(projecttest.Host("s"), "CURRENT")
	f.Push(projecttest.Host("s"), "CHILD")
	f.Pop(projecttest.Host("s"), "CHILD_SUMMARY")
	f.Push(projecttest.Host("s"), "DEAD_END")
	f.PopAs(projecttest.Host("s"), stack.PopArgs{Status: core.Failed, Summary: "LESSON"})
	f.Plan(projecttest.Host("s"), "", "PLANNED")
	gone := f.Plan(projecttest.Host("s"), "", "GONE")
	f.Invalidate(projecttest.Host("s"), gone[0].ID, "changed")

	made := f.Context(projecttest.Host("s"), "")
	wellFormed(t, made.Text)
	for _, text := range []string{"PARENT", "UNCLE_SUMMARY", "MIDDLE", "SIBLING_SUMMARY", "SIBLING_DECISION", "CURRENT", "CHILD_SUMMARY", "LESSON", "PLANNED"} {
		assert.Contains(t, made.Text, text)
	}
	assert.NotContains(t, made.Text, "GONE")
}

func TestADecisionBindsTheWorkBelowTheNearestOpenFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	f.Push(by, "TOP")
	f.Push(by, "FIRST")
	inner := f.Push(by, "INNER")
	f.PopAs(by, stack.PopArgs{Status: core.Completed, Summary: "found out", Decisions: []string{"HS256, not RS256"}})
	assert.Contains(t, f.Context(by, "").Text, `<decided in="`+inner.ID+`" goal="INNER">HS256, not RS256</decided>`, "FIRST is still open")
	f.Pop(by, "a summary that does not tell it")
	second := f.Push(by, "SECOND")
	made := f.Context(by, second.ID).Text
	wellFormed(t, made)
	above, _, _ := strings.Cut(made, "<completed-siblings")
	assert.Contains(t, above, `<decided in="`+inner.ID+`" goal="INNER">HS256, not RS256</decided>`, "it binds what is done beside FIRST")
	assert.Equal(t, 1, strings.Count(made, "HS256, not RS256"))
}

func TestContextIsCachedUntilTheTreeChanges(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	assert.False(t, f.Context(projecttest.Host("s"), "").CacheHit)
	assert.True(t, f.Context(projecttest.Host("s"), "").CacheHit)
	assert.Equal(t, 1, f.Contexts.Info().Entries)

	f.Decide(projecttest.Host("s"), "", "fresh")
	made := f.Context(projecttest.Host("s"), "")
	assert.False(t, made.CacheHit)
	assert.Contains(t, made.Text, "fresh")

	_, dropped, err := f.Contexts.Clear(f.Ctx, projecttest.Host("s"), frame.ID)
	require.NoError(t, err)
	assert.Equal(t, 2, dropped)
	assert.False(t, f.Context(projecttest.Host("s"), "").CacheHit)

	f.Clock += 31_000
	assert.False(t, f.Context(projecttest.Host("s"), "").CacheHit, "an entry lives 30 s")
}

func TestContextCacheKeepsTheFiftyUsedLast(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "root of many")
	planned := f.Plan(projecttest.Host("s"), "", manyGoals(51)...)
	for _, p := range planned[:50] {
		f.Context(projecttest.Host("s"), p.ID)
	}
	f.Context(projecttest.Host("s"), planned[0].ID) // used last now
	f.Context(projecttest.Host("s"), planned[50].ID)
	assert.Equal(t, 50, f.Contexts.Info().Entries)
	assert.True(t, f.Context(projecttest.Host("s"), planned[0].ID).CacheHit)
	assert.False(t, f.Context(projecttest.Host("s"), planned[1].ID).CacheHit)
}

func TestTheSameTreeGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "work")
	f.Plan(projecttest.Host("s"), "", manyGoals(5)...)
	first := f.Context(projecttest.Host("s"), "").Text
	f.Clock += 86_400_000
	f.Contexts.Clear(f.Ctx, projecttest.Host("s"), "")
	assert.Equal(t, first, f.Context(projecttest.Host("s"), "").Text, "no clock shows in a context")
}

func TestTreeBeyondItsLimitShowsTheWayAndCountsTheRest(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	for i := range 30 {
		f.Push(projecttest.Host(fmt.Sprintf("other%d", i)), "other work")
	}
	top := f.Push(projecttest.Host("s"), "top")
	f.Plan(projecttest.Host("s"), "", manyGoals(100)...)
	deep := f.Push(projecttest.Host("s"), "deep")

	tree, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Limit: 20})
	require.NoError(t, err)
	assert.Equal(t, deep.ID, tree.Current)
	shown, counted := projecttest.Walk(tree)
	assert.Contains(t, shown, top.Parent)
	assert.Contains(t, shown, top.ID)
	assert.Contains(t, shown, deep.ID)
	assert.Less(t, len(shown), 60)
	// Of what lies below a frame that is itself left out, nothing is said.
	roots := 0
	for _, line := range tree.Lines {
		if line.Depth == 0 && line.More == nil {
			roots++
		} else if line.Depth == 0 {
			roots += projecttest.Sum(line.More)
		}
	}
	assert.Equal(t, 31, roots)
	assert.GreaterOrEqual(t, len(shown)+counted, 101)
	assert.Equal(t, 31+31+100+1, tree.Counts[core.InProgress]+tree.Counts[core.Planned])

	whole, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{})
	require.NoError(t, err)
	all, left := projecttest.Walk(whole)
	assert.Len(t, all, 163)
	assert.Zero(t, left)

	part, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Root: top.ID})
	require.NoError(t, err)
	below, _ := projecttest.Walk(part)
	assert.Len(t, below, 102)
	assert.Equal(t, top.Parent, part.Lines[0].Frame.Parent, "a frame is shown as it is")
	assert.Zero(t, part.Lines[0].Fault)
}

func manyGoals(n int) (goals []string) {
	for i := range n {
		goals = append(goals, fmt.Sprintf("goal %d", i))
	}
	return goals
}

// wellFormed fails unless text is one XML element.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

func foundIDs(found []view.SearchHit) []string {
	return lo.Map(found, func(f view.SearchHit, _ int) string { return f.ID })
}

func TestSearchFindsByWordsNewestFirst(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	first := f.Push(projecttest.Host("s"), "Fix the login form")
	f.Pop(projecttest.Host("s"), "The cookie was dropped by the proxy")
	second := f.Push(projecttest.Host("s"), "Log in again")
	f.Pop(projecttest.Host("s"), "Nothing to do with a COOKIE")

	found, err := view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: "cookie"})
	require.NoError(t, err)
	assert.Equal(t, []string{second.ID, first.ID}, foundIDs(found))
	found, err = view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: "proxy login"})
	require.NoError(t, err)
	assert.Equal(t, []string{first.ID}, foundIDs(found), "words may stand in different texts of a frame")
	found, err = view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: "cookie", Status: core.Failed})
	require.NoError(t, err)
	assert.Empty(t, found)
	for _, hostile := range []string{`"`, `a" OR "b`, "NEAR(", "*", "goal:x", "--", "'; drop table frames"} {
		_, err := view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: hostile})
		require.NoError(t, err, hostile)
	}
	_, err = view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: "x", Status: "odd"})
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = view.Search(f.Ctx, f.Project, projecttest.Host("s"), view.SearchArgs{Text: "x", Limit: 101})
	require.ErrorIs(t, err, core.ErrInvalid)
}
