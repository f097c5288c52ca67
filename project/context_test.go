package project_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/stack"
	"flame/project/view"
)

func (f *fixture) context(by project.Caller, ref string) briefing.FrameContext {
	f.t.Helper()
	made, err := f.contexts.Of(f.ctx, by, ref, 0)
	require.NoError(f.t, err)
	return made
}

func TestContextShowsGoalsAboveAndOutcomesBesideAndBelow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "PARENT")
	f.push(host("s"), "UNCLE")
	f.pop(host("s"), "UNCLE_SUMMARY")
	f.push(host("s"), "MIDDLE")
	f.push(host("s"), "SIBLING")
	f.pop(host("s"), "SIBLING_SUMMARY")
	f.push(host("s"), "CURRENT")
	f.push(host("s"), "CHILD")
	f.pop(host("s"), "CHILD_SUMMARY")
	f.push(host("s"), "DEAD_END")
	_, err := stack.Pop(f.ctx, f.Project, host("s"), stack.PopArgs{Status: core.Failed, Summary: "LESSON"})
	require.NoError(t, err)
	f.plan(host("s"), "", "PLANNED")
	gone := f.plan(host("s"), "", "GONE")
	_, err = stack.Invalidate(f.ctx, f.Project, host("s"), gone[0].ID, "changed")
	require.NoError(t, err)

	made := f.context(host("s"), "")
	wellFormed(t, made.Text)
	for _, text := range []string{"PARENT", "UNCLE_SUMMARY", "MIDDLE", "SIBLING_SUMMARY", "CURRENT", "CHILD_SUMMARY", "LESSON", "PLANNED"} {
		assert.Contains(t, made.Text, text)
	}
	assert.NotContains(t, made.Text, "GONE")
}

func TestContextIsCachedUntilTheTreeChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("s"), "work")
	assert.False(t, f.context(host("s"), "").CacheHit)
	assert.True(t, f.context(host("s"), "").CacheHit)
	assert.Equal(t, 1, f.contexts.Info().Entries)

	_, _, err := stack.AddDecision(f.ctx, f.Project, host("s"), "", "fresh")
	require.NoError(t, err)
	made := f.context(host("s"), "")
	assert.False(t, made.CacheHit)
	assert.Contains(t, made.Text, "fresh")

	_, dropped, err := f.contexts.Clear(f.ctx, host("s"), frame.ID)
	require.NoError(t, err)
	assert.Equal(t, 2, dropped)
	assert.False(t, f.context(host("s"), "").CacheHit)

	f.clock += 31_000
	assert.False(t, f.context(host("s"), "").CacheHit, "an entry lives 30 s")
}

func TestContextCacheKeepsTheFiftyUsedLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "root of many")
	planned := f.plan(host("s"), "", manyGoals(51)...)
	for _, p := range planned[:50] {
		f.context(host("s"), p.ID)
	}
	f.context(host("s"), planned[0].ID) // used last now
	f.context(host("s"), planned[50].ID)
	assert.Equal(t, 50, f.contexts.Info().Entries)
	assert.True(t, f.context(host("s"), planned[0].ID).CacheHit)
	assert.False(t, f.context(host("s"), planned[1].ID).CacheHit)
}

func TestTheSameTreeGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	f.plan(host("s"), "", manyGoals(5)...)
	first := f.context(host("s"), "").Text
	f.clock += 86_400_000
	f.contexts.Clear(f.ctx, host("s"), "")
	assert.Equal(t, first, f.context(host("s"), "").Text, "no clock shows in a context")
}

func TestTreeBeyondItsLimitShowsTheWayAndCountsTheRest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 30 {
		f.push(host(fmt.Sprintf("other%d", i)), "other work")
	}
	top := f.push(host("s"), "top")
	f.plan(host("s"), "", manyGoals(100)...)
	deep := f.push(host("s"), "deep")

	tree, err := view.TreeOf(f.ctx, f.Project, host("s"), view.TreeArgs{Limit: 20})
	require.NoError(t, err)
	assert.Equal(t, deep.ID, tree.Current)
	shown, counted := walk(tree)
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
			roots += sum(line.More)
		}
	}
	assert.Equal(t, 31, roots)
	assert.GreaterOrEqual(t, len(shown)+counted, 101)
	assert.Equal(t, 31+31+100+1, tree.Counts[core.InProgress]+tree.Counts[core.Planned])

	whole, err := view.TreeOf(f.ctx, f.Project, host("s"), view.TreeArgs{})
	require.NoError(t, err)
	all, left := walk(whole)
	assert.Len(t, all, 163)
	assert.Zero(t, left)

	part, err := view.TreeOf(f.ctx, f.Project, host("s"), view.TreeArgs{Root: top.ID})
	require.NoError(t, err)
	below, _ := walk(part)
	assert.Len(t, below, 102)
	assert.Equal(t, top.Parent, part.Lines[0].Frame.Parent, "a frame is shown as it is")
	assert.Zero(t, part.Lines[0].Fault)
}

// walk returns the ids of a tree and the number of frames counted as left out.
func walk(tree view.Tree) (shown []string, left int) {
	for _, line := range tree.Lines {
		if line.More == nil {
			shown = append(shown, line.Frame.ID)
		}
		left += sum(line.More)
	}
	return shown, left
}

func sum(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
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

func TestSearchFindsByWordsNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push(host("s"), "Fix the login form")
	f.pop(host("s"), "The cookie was dropped by the proxy")
	second := f.push(host("s"), "Log in again")
	f.pop(host("s"), "Nothing to do with a COOKIE")

	found, err := view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: "cookie"})
	require.NoError(t, err)
	assert.Equal(t, []string{second.ID, first.ID}, ids(found))
	found, err = view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: "proxy login"})
	require.NoError(t, err)
	assert.Equal(t, []string{first.ID}, ids(found), "words may stand in different texts of a frame")
	found, err = view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: "cookie", Status: core.Failed})
	require.NoError(t, err)
	assert.Empty(t, found)
	for _, hostile := range []string{`"`, `a" OR "b`, "NEAR(", "*", "goal:x", "--", "'; drop table frames"} {
		_, err = view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: hostile})
		require.NoError(t, err, hostile)
	}
	_, err = view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: "x", Status: "odd"})
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = view.Search(f.ctx, f.Project, host("s"), view.SearchArgs{Text: "x", Limit: 101})
	require.ErrorIs(t, err, core.ErrInvalid)
}
