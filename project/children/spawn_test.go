package children_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestACallMakesItsChildsFrameOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	first := f.Spawn(projecttest.Host("s"), "call", "look around")
	assert.Contains(t, first, "<goal>look around</goal>")
	assert.Equal(t, first, f.Spawn(projecttest.Host("s"), "call", "look around"), "the same bytes again")
	assert.Equal(t, []string{"in_progress work", "  in_progress look around"}, f.Draw())
	assert.Equal(t, "work", f.Get(f.Current(projecttest.Host("s"))).Goal, "its parent stays where it is")

	f.Bind(projecttest.Host("s"), "call", "c")
	f.Bind(projecttest.Host("s"), "call", "another")
	assert.Equal(t, "look around", f.Get(f.Current(projecttest.Agent("c"))).Goal)
	assert.Empty(t, f.Current(project.Caller{Session: "another", Host: "claude-code"}), "a call has one child")
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, stats(f))
}

func TestAnUnknownCallHasNoChild(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	known, err := children.BindSession(f.Ctx, f.Project, projecttest.Host("s"), children.ChildStart{Call: "unknown", Session: "c"})
	require.NoError(t, err)
	assert.False(t, known)
	child, err := children.SessionOf(f.Ctx, f.Project, "c")
	require.NoError(t, err)
	assert.Zero(t, child)
}

func TestChildrenOfOneMessageAreToldApart(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Spawn(projecttest.Host("s"), "call-2", "second")
	f.Spawn(projecttest.Host("s"), "call-1", "first")
	f.Bind(projecttest.Host("s"), "call-1", "c1")
	f.Bind(projecttest.Host("s"), "call-2", "c2")
	f.SpawnAll(projecttest.Agent("c2"), "deeper")
	assert.Equal(t, "first", f.Get(f.Current(projecttest.Agent("c1"))).Goal)
	assert.Equal(t, "second", f.Get(f.Current(projecttest.Agent("c2"))).Goal)
	assert.Equal(t, []string{"in_progress work", "  in_progress second", "    in_progress deeper", "  in_progress first"}, f.Draw())
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
		"nothing":                        {func(c *core.SubagentConfig) { c.Enabled = false }, false, false, []string{"in_progress work"}},
		"no frame for one of no pattern": {func(c *core.SubagentConfig) { c.SubagentPatterns = []string{"never"} }, false, true, []string{"in_progress work"}},
		"a frame by its kind": {
			func(c *core.SubagentConfig) { c.SubagentPatterns = []string{"@GENERAL-"} }, true, true, []string{"in_progress work", "  in_progress look"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			tt.set(&f.Subagents)
			f.Prompt(projecttest.Host("s"), "first", "work")
			assert.Equal(t, tt.context, f.Spawn(projecttest.Host("s"), "call", "look") != "")
			f.Bind(projecttest.Host("s"), "call", "c")
			assert.Equal(t, tt.tree, f.Draw())
			all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
			require.NoError(t, err)
			assert.Equal(t, tt.tracked, len(all.Sessions) == 1)
		})
	}
}

func TestAChildThatIsNotWorthAFrameHasItsChildrenBesideIt(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Subagents.SubagentPatterns = []string{"deep"}
	f.Prompt(projecttest.Host("s"), "first", "work")
	f.SpawnAll(projecttest.Host("s"), "look", "deeper")
	f.SpawnAll(projecttest.Agent("look"), "deepest")
	assert.Equal(t, []string{"in_progress work", "  in_progress deeper", "  in_progress deepest"}, f.Draw())
	require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, projecttest.Agent("look"), []string{"a.go"}))
	f.Prompt(projecttest.Agent("look"), "m", "go on")
	assert.Len(t, f.Draw(), 3, "neither its files nor its messages make it a frame")
}

func TestWorkOfAnUnknownChildMovesBelowItsFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Spawn(projecttest.Host("s"), "call", "look")
	early := f.Push(projecttest.Agent("c"), "early")
	f.Bind(projecttest.Host("s"), "call", "c")
	assert.Equal(t, []string{"in_progress work", "  in_progress look", "    in_progress early"}, f.Draw())
	assert.Equal(t, early.ID, f.Current(projecttest.Agent("c")), "it stays where it is")
	f.Pop(projecttest.Agent("c"), "done")
	assert.Equal(t, "look", f.Get(f.Current(projecttest.Agent("c"))).Goal)
}

func TestAPlannedFrameThatAChildTookUpStaysWhereItWasPlanned(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	planned := f.Plan(projecttest.Host("s"), "", "planned")
	f.Spawn(projecttest.Host("s"), "call", "look")
	f.Activate(projecttest.Agent("c"), planned[0].ID)
	f.Bind(projecttest.Host("s"), "call", "c")
	assert.Equal(t, f.Current(projecttest.Host("s")), f.Get(planned[0].ID).Parent)
}

func TestATurnsEndGivesUpOnChildrenThatNeverCame(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Spawn(projecttest.Host("s"), "call", "denied")
	f.Spawn(projecttest.Host("other"), "call-other", "another session's")
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: []string{}}))
	drawn := f.Draw()
	assert.Contains(t, drawn, "  blocked denied: (its subagent was never started)")
	assert.Contains(t, drawn, "  in_progress another session's")
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: []string{}}))
	assert.Equal(t, drawn, f.Draw())
	known, err := children.BindSession(f.Ctx, f.Project, projecttest.Host("s"), children.ChildStart{Call: "call", Session: "late"})
	require.NoError(t, err)
	assert.False(t, known, "its call is forgotten")
}

func TestChildrenOfARunningChildAreNotLost(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.SpawnAll(projecttest.Host("s"), "runs")
	f.SpawnAll(projecttest.Agent("runs"), "nested")
	f.Spawn(projecttest.Agent("runs"), "call-unborn", "unborn")
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: []string{"runs"}}))
	assert.Equal(t, []string{"in_progress work", "  in_progress runs", "    in_progress nested", "    in_progress unborn"}, f.Draw(),
		"the host tells what runs in the background, not what that waits for")
	f.EndChild(projecttest.Agent("runs"), children.EndReport{Session: "late", Call: "call-unborn", End: core.ChildCompleted, Last: "LAST"})
	assert.Contains(t, f.Draw(), "    completed unborn: LAST")
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: []string{}}))
	assert.Equal(t, []string{"in_progress work", "  blocked runs: (its host no longer runs it)",
		"    blocked nested: (its host no longer runs it)", "    completed unborn: LAST"}, f.Draw())
}

func TestAChildIsKnownFromTheCallThatAsksForIt(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	s := projecttest.Host("s")
	call := children.SpawnCall{ID: "call", Description: "look", AgentType: "explore", Prompt: "look around"}
	for range 2 {
		_, err := children.Spawn(f.Ctx, f.Project, s, call)
		require.NoError(t, err)
	}
	asked := f.Clock
	tracked := func() core.Session {
		all, err := children.Sessions(f.Ctx, f.Project, s)
		require.NoError(t, err)
		require.Len(t, all.Sessions, 1)
		assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, all.Stats)
		return all.Sessions[0]
	}
	before := tracked()
	assert.Equal(t, []string{"call", "look (@explore subagent)"}, []string{before.ID, before.Title})
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Kinds: []string{core.SubagentDetected}})
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, before.Root, events[0].Frame)
	assert.JSONEq(t, `{"title": "look (@explore subagent)", "matched": true, "agentType": "explore", "prompt": "look around", "toolUseId": "call"}`,
		string(events[0].Data))
	f.Clock += 70_000
	f.Bind(s, "call", "c")
	after := tracked()
	assert.Equal(t, "c", after.ID)
	assert.LessOrEqual(t, after.CreatedAt, asked, "its life began with the call")
	f.EndChild(s, projecttest.Completed("c", "FOUND"))
	assert.Equal(t, []string{"in_progress work", "  completed look: FOUND"}, f.Draw())
}

func TestAPersonsPromptShowsWhoWasInterrupted(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	s := projecttest.Host("s")
	f.SpawnAll(s, "background")
	for _, goal := range []string{"foreground", "never started"} {
		f.Spawn(s, "call-"+goal, goal)
	}
	f.Bind(s, "call-foreground", "foreground")
	f.Spawn(projecttest.Agent("foreground"), "call-nested", "nested")
	_, err := turns.Begin(f.Ctx, f.Project, s, turns.Prompt{ID: "n", Text: "<task-notification>"})
	require.NoError(t, err)
	assert.NotContains(t, strings.Join(f.Draw(), "\n"), "blocked", "only a person interrupts")
	for _, id := range []string{"b", "c"} {
		f.Prompt(s, id, "wait, not so")
		assert.Equal(t, []string{
			"in_progress work", "  in_progress background", "  blocked foreground: (stopped before it was finished)",
			"    blocked nested: (stopped before it was finished)", "  blocked never started: (stopped before it was finished)",
		}, f.Draw())
	}
	f.EndChild(s, projecttest.Completed("foreground", "DONE AFTER ALL"))
	f.EndChild(s, projecttest.Completed("background", "FOUND"))
	assert.Equal(t, []string{
		"in_progress work", "  completed background: FOUND", "  completed foreground: DONE AFTER ALL",
		"    blocked nested: (stopped before it was finished)", "  blocked never started: (stopped before it was finished)",
	}, f.Draw())
}
