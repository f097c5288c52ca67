package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/view"
	"flame/render"
	"flame/tests/projecttest"
)

// bare makes a frame that ended without a summary, above one that has a summary and
// decisions, and returns the upper one.
func bare(t *testing.T, f *projecttest.Fixture) core.Frame {
	t.Helper()
	by := projecttest.Host("s")
	f.Push(by, "ROOT")
	parent := f.Push(by, "PARENT")
	f.Push(by, "MIDDLE")
	f.Push(by, "CHILD")
	f.Decide(by, "", "Use HS256 for tokens")
	f.Pop(by, "It works")
	f.Pop(by, "")
	f.Pop(by, "")
	return parent
}

func TestAFrameWithoutSummaryShowsOneComposedOfThoseBelow(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	parent := bare(t, f)
	details, err := view.DetailsOf(f.Ctx, f.Project, projecttest.Shell, parent.ID)
	require.NoError(t, err)
	want := "- MIDDLE\n  - CHILD: It works (decided: Use HS256 for tokens)"
	assert.Equal(t, want, details.Composed)
	assert.Contains(t, render.Details(details, 0), "Summary (composed of what was done below it):\n"+want+"\n")

	found, err := view.Search(f.Ctx, f.Project, projecttest.Shell, view.SearchArgs{Text: "PARENT"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, render.ShortSearchResults("PARENT", found), "below it: - MIDDLE - CHILD: It works (decided: Use HS256 for tokens)")
	assert.Empty(t, f.Get(parent.ID).Summary, "it is never stored")

	made := f.Context(projecttest.Host("s"), "")
	assert.Contains(t, made.Text, "<summary composed=\"true\">- MIDDLE\n  - CHILD: It works</summary>")
	assert.Contains(t, made.Text, ` goal="CHILD">Use HS256 for tokens</decided>`, "at the frame whose work it binds")
}

func TestASearchShowsTheDecisionsThatMatched(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := projecttest.Host("s")
	frame := f.Push(by, "Login")
	for _, decision := range []string{"No library", "Use HS256 for tokens", "tokens live an hour", "Tokens are opaque", "one more for tokens"} {
		f.Decide(by, "", decision)
	}
	found, err := view.Search(f.Ctx, f.Project, by, view.SearchArgs{Text: "hs256"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, []string{"Use HS256 for tokens"}, found[0].Matched)
	assert.Equal(t, frame.ID+" (in_progress) Login\n  decided: Use HS256 for tokens\n", render.ShortSearchResults("hs256", found))

	found, err = view.Search(f.Ctx, f.Project, by, view.SearchArgs{Text: "tokens"})
	require.NoError(t, err)
	assert.Contains(t, render.SearchResults("tokens", found), "  decided: Tokens are opaque\n  and 1 other decision\n")
	found, err = view.Search(f.Ctx, f.Project, by, view.SearchArgs{Text: "login"})
	require.NoError(t, err)
	assert.Empty(t, found[0].Matched)
}
