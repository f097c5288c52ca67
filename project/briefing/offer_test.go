package briefing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/children"
	"flame/project/stack"
	"flame/tests/projecttest"
)

// leaves has a session finish its root with a decision and some parts, plan so many more
// below it, and end.
func leaves(t *testing.T, f *projecttest.Fixture, planned int) (root core.Frame) {
	t.Helper()
	by := projecttest.Host("first")
	root = f.Get(f.Push(by, "PART").Parent)
	f.PopAs(by, stack.PopArgs{Status: core.Completed, Summary: "PART-DONE", Decisions: []string{"DECIDED"}})
	for i := range planned {
		f.Plan(by, "", fmt.Sprint("NEXT ", i))
	}
	f.PopAs(by, stack.PopArgs{Frame: root.ID, Status: core.Completed, Summary: "ALL-DONE", Force: true})
	return root
}

func TestANewSessionReadsWhatAFinishedRootLeaves(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := leaves(t, f, 2)
	assert.Empty(t, begun(f, projecttest.Host("second")).Text, "the first session still goes on")
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("first")))
	text := begun(f, projecttest.Host("third")).Text
	wellFormed(t, text)
	assert.Contains(t, text, `<finished-work id="`+root.ID+`" status="completed">`)
	for _, told := range []string{"ALL-DONE", "PART-DONE", "DECIDED", "NEXT 0", "NEXT 1"} {
		assert.Equal(t, 1, strings.Count(text, told), told)
	}
}

func TestWorkOfAnotherMachineIsOfferedOnceItIsQuiet(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := f.Foreign("", "THEIRS", core.InProgress)
	f.Foreign(root.ID, "PART", core.InProgress)
	f.Push(projecttest.Host("first"), "mine")
	assert.NotContains(t, begun(f, projecttest.Host("second")).Text, "THEIRS", "it may be worked in there")
	f.Clock += 13 * 3_600_000
	text := begun(f, projecttest.Host("third")).Text
	wellFormed(t, text)
	assert.Contains(t, text, `<frame id="`+root.ID+`" status="in_progress" machine="laptop-x7k2">`)
}

func TestAnOfferOfAnotherMachinesRootNamesTheMachine(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := leaves(t, f, 2)
	f.TakeAway(root.ID)
	assert.Contains(t, begun(f, projecttest.Host("second")).Text, `<finished-work id="`+root.ID+`" status="completed" machine="laptop-x7k2">`)
}

func TestARootThatLeavesNothingOpenIsNotOffered(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	leaves(t, f, 0)
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("first")))
	assert.Empty(t, begun(f, projecttest.Host("second")).Text)
}

func TestTheTextAboutAHugeRootIsLimited(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := leaves(t, f, 130)
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("first")))
	text := begun(f, projecttest.Host("second")).Text
	assert.LessOrEqual(t, len(text), 4000)
	assert.Contains(t, text, "DECIDED")
	assert.Contains(t, text, "Some frames below it are not listed here.")
	assert.Regexp(t, `- and \d+ others`, text)
	assert.Equal(t, text, begun(f, projecttest.Host("third")).Text)
	assert.NotEmpty(t, root.ID)
}
