package project_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/turns"
	"flame/project/view"
)

// spawn asks for a child by a call and returns the context that it begins with.
func (f *fixture) spawn(by project.Caller, call, description string) string {
	f.t.Helper()
	context, err := children.Spawn(f.ctx, f.Project, by, children.Call{ID: call, Description: description, AgentType: "general-purpose"})
	require.NoError(f.t, err)
	return context
}

// bind tells which session the child of a call came to be.
func (f *fixture) bind(by project.Caller, call, child string) {
	f.t.Helper()
	known, err := children.Bind(f.ctx, f.Project, by, call, child)
	require.NoError(f.t, err)
	require.True(f.t, known)
}

// subagents starts children of a session. Each has its goal as the id of its own,
// and "call-" before that as its call.
func (f *fixture) subagents(by project.Caller, goals ...string) {
	f.t.Helper()
	for _, goal := range goals {
		f.spawn(by, "call-"+goal, goal)
		f.bind(by, "call-"+goal, goal)
	}
}

// working is a project in which the session s works.
func working(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.prompt(host("s"), "first", "work")
	return f
}

// draw returns the trees without ids, the oldest first, one line a frame: status,
// goal, summary.
func (f *fixture) draw() []string {
	f.t.Helper()
	tree, err := view.TreeOf(f.ctx, f.Project, shell, view.TreeArgs{})
	require.NoError(f.t, err)
	var trees [][]string
	for _, l := range tree.Lines {
		line := strings.Repeat("  ", int(l.Depth)) + string(l.Frame.Status) + " " + l.Frame.Goal
		if l.Frame.Summary != "" {
			line += ": " + l.Frame.Summary
		}
		if l.Depth == 0 {
			trees = append(trees, nil)
		}
		trees[len(trees)-1] = append(trees[len(trees)-1], line)
	}
	slices.Reverse(trees)
	return slices.Concat(trees...)
}

func TestACallMakesItsChildsFrameOnce(t *testing.T) {
	t.Parallel()
	f := working(t)
	first := f.spawn(host("s"), "call", "look around")
	assert.Contains(t, first, "<goal>look around</goal>")
	assert.Equal(t, first, f.spawn(host("s"), "call", "look around"), "the same bytes again")
	assert.Equal(t, []string{"in_progress work", "  in_progress look around"}, f.draw())
	assert.Equal(t, "work", f.get(f.current(host("s"))).Goal, "its parent stays where it is")

	f.bind(host("s"), "call", "c")
	f.bind(host("s"), "call", "another")
	assert.Equal(t, "look around", f.get(f.current(agent("c"))).Goal)
	assert.Empty(t, f.current(project.Caller{Session: "another", Host: "claude-code"}), "a call has one child")
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, f.stats())
}

func TestACallThatNobodyMadeHasNoChild(t *testing.T) {
	t.Parallel()
	f := working(t)
	known, err := children.Bind(f.ctx, f.Project, host("s"), "unknown", "c")
	require.NoError(t, err)
	assert.False(t, known)
	bound, framed, err := children.Bound(f.ctx, f.Project, "c")
	require.NoError(t, err)
	assert.False(t, bound || framed)
}

func TestChildrenOfOneMessageAreToldApart(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.spawn(host("s"), "call-2", "second")
	f.spawn(host("s"), "call-1", "first")
	f.bind(host("s"), "call-1", "c1")
	f.bind(host("s"), "call-2", "c2")
	f.subagents(agent("c2"), "deeper")
	assert.Equal(t, "first", f.get(f.current(agent("c1"))).Goal)
	assert.Equal(t, "second", f.get(f.current(agent("c2"))).Goal)
	assert.Equal(t, []string{"in_progress work", "  in_progress second", "    in_progress deeper", "  in_progress first"}, f.draw())
}

func TestSettingsDecideWhatAChildGets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set              func(*core.SubagentConfig)
		context, tracked bool
		tree             []string
	}{
		"by default a frame and its context": {func(*core.SubagentConfig) {}, true, true, []string{"in_progress work", "  in_progress look"}},
		"no context": {
			func(c *core.SubagentConfig) { c.InjectParentContext = false }, false, true, []string{"in_progress work", "  in_progress look"},
		},
		"a frame that is not watched":    {func(c *core.SubagentConfig) { c.Enabled = false }, true, false, []string{"in_progress work", "  in_progress look"}},
		"no frame for one of no pattern": {func(c *core.SubagentConfig) { c.SubagentPatterns = []string{"never"} }, false, true, []string{"in_progress work"}},
		"a frame by its kind": {
			func(c *core.SubagentConfig) { c.SubagentPatterns = []string{"@GENERAL-"} }, true, true, []string{"in_progress work", "  in_progress look"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			tt.set(&f.Subagents)
			f.prompt(host("s"), "first", "work")
			assert.Equal(t, tt.context, f.spawn(host("s"), "call", "look") != "")
			f.bind(host("s"), "call", "c")
			assert.Equal(t, tt.tree, f.draw())
			all, err := children.Sessions(f.ctx, f.Project, host("s"))
			require.NoError(t, err)
			assert.Equal(t, tt.tracked, len(all.Sessions) == 1)
		})
	}
}

func TestAChildThatIsNotWorthAFrameHasItsChildrenBesideIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Subagents.SubagentPatterns = []string{"deep"}
	f.prompt(host("s"), "first", "work")
	f.subagents(host("s"), "look", "deeper")
	f.subagents(agent("look"), "deepest")
	assert.Equal(t, []string{"in_progress work", "  in_progress deeper", "  in_progress deepest"}, f.draw())
	require.NoError(t, autonomy.NoteFiles(f.ctx, f.Project, agent("look"), []string{"a.go"}))
	f.prompt(agent("look"), "m", "go on")
	assert.Len(t, f.draw(), 3, "neither its files nor its messages make it a frame")
}

func TestWhatAChildDidBeforeItWasKnownMovesBelowItsFrame(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.spawn(host("s"), "call", "look")
	early := f.push(agent("c"), "early")
	f.bind(host("s"), "call", "c")
	assert.Equal(t, []string{"in_progress work", "  in_progress look", "    in_progress early"}, f.draw())
	assert.Equal(t, early.ID, f.current(agent("c")), "it stays where it is")
	f.pop(agent("c"), "done")
	assert.Equal(t, "look", f.get(f.current(agent("c"))).Goal)
}

func TestAPlannedFrameThatAChildTookUpStaysWhereItWasPlanned(t *testing.T) {
	t.Parallel()
	f := working(t)
	planned := f.plan(host("s"), "", "planned")
	f.spawn(host("s"), "call", "look")
	f.activate(agent("c"), planned[0].ID)
	f.bind(host("s"), "call", "c")
	assert.Equal(t, f.current(host("s")), f.get(planned[0].ID).Parent)
}

func TestATurnsEndGivesUpOnChildrenThatNeverCame(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.spawn(host("s"), "call", "denied")
	f.spawn(host("other"), "call-other", "another session's")
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: []string{}}))
	drawn := f.draw()
	assert.Contains(t, drawn, "  blocked denied: (its subagent was never started)")
	assert.Contains(t, drawn, "  in_progress another session's")
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: []string{}}))
	assert.Equal(t, drawn, f.draw())
	known, err := children.Bind(f.ctx, f.Project, host("s"), "call", "late")
	require.NoError(t, err)
	assert.False(t, known, "its call is forgotten")
}

func TestWhatARunningChildStartedIsNotLost(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.subagents(host("s"), "runs")
	f.subagents(agent("runs"), "nested")
	f.spawn(agent("runs"), "call-unborn", "unborn")
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: []string{"runs"}}))
	assert.Equal(t, []string{"in_progress work", "  in_progress runs", "    in_progress nested", "    in_progress unborn"}, f.draw(),
		"the host tells what runs in the background, not what that waits for")
	f.endChild(agent("runs"), children.Ended{Session: "late", Call: "call-unborn", End: core.ChildCompleted, Last: "LAST"})
	assert.Contains(t, f.draw(), "    completed unborn: LAST")
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: []string{}}))
	assert.Equal(t, []string{"in_progress work", "  blocked runs: (its host no longer runs it)",
		"    blocked nested: (its host no longer runs it)", "    completed unborn: LAST"}, f.draw())
}
