package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/usage"
)

// attend asks what goes beside the newest of these prompts.
func (f *fixture) attend(by project.Caller, r turns.Request, prompts ...string) (texts []string) {
	f.t.Helper()
	r.Prompts = prompts
	a, err := turns.Attend(f.ctx, f.Project, by, r)
	require.NoError(f.t, err)
	for _, insert := range a.Inserts {
		texts = append(texts, insert.Message+": "+insert.Text)
	}
	return texts
}

func TestEachPromptIsDecidedOnOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, turns.TakeIn(f.ctx, f.Project, host("s"), turns.Prompt{ID: "m1", Text: "work", FromUser: true}))
	assert.Empty(t, f.attend(host("s"), turns.Request{First: true}, "m1"), "nothing to tell")
	f.push(host("s"), "deeper")
	assert.Empty(t, f.attend(host("s"), turns.Request{}, "m1"), "its own calls are in its history")

	_, _, err := stack.AddDecision(f.ctx, f.Project, shell, f.current(host("s")), "someone else decides")
	require.NoError(t, err)
	assert.Empty(t, f.attend(host("s"), turns.Request{}, "m1"), "m1 was decided on")
	told := f.attend(host("s"), turns.Request{}, "m1", "m2")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], "m2: <flame-changes")
	assert.Contains(t, told[0], "someone else decides")
	assert.Equal(t, told, f.attend(host("s"), turns.Request{}, "m1", "m2"), "the same bytes again")
	assert.Equal(t, told, f.attend(host("s"), turns.Request{}, "m1", "m2", "m3"), "and in later requests")
	assert.Equal(t, told, f.attend(host("s"), turns.Request{Compacting: true}, "m1", "m2", "m4"), "a compaction adds nothing")
}

func TestTheContextComesBack(t *testing.T) {
	t.Parallel()
	tests := map[string]turns.Request{
		"in another process": {First: true},
		"after a compaction": {Summary: "s1"},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			frame := f.push(host("s"), "work")
			f.attend(host("s"), turns.Request{First: true}, "m1")
			told := f.attend(host("s"), r, "m2")
			require.Len(t, told, 1, "what belonged to m1 went with it")
			assert.Contains(t, told[0], `<current-frame id="`+frame.ID+`"`)
			r.First = false
			assert.Equal(t, told, f.attend(host("s"), r, "m2"))
		})
	}
}

func TestAChildsFirstRequestCarriesItsContext(t *testing.T) {
	t.Parallel()
	for _, inject := range []bool{true, false} {
		f := newFixture(t)
		f.Subagents.InjectParentContext = inject
		f.push(host("s"), "work")
		frame := f.startChild("c", "a subagent").Root
		told := f.attend(child("c"), turns.Request{First: true}, "m1")
		if !inject {
			assert.Empty(t, told)
			continue
		}
		require.Len(t, told, 1)
		assert.Contains(t, told[0], `<current-frame id="`+frame+`"`)
	}
}

func TestInsertsGoWithTheirMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prompt(host("s"), "m0", "work")
	frame := f.push(host("s"), "piece")
	f.attend(host("s"), turns.Request{First: true}, "m1")
	f.decide(shell, frame.ID, "first")
	f.attend(host("s"), turns.Request{}, "m1", "m2")
	f.decide(shell, frame.ID, "second")
	both := f.attend(host("s"), turns.Request{}, "m1", "m2", "m3")
	require.Len(t, both, 3)
	assert.Contains(t, both[2], "m3: <flame-changes")
	assert.NotContains(t, both[2], "first", "told once")
	assert.Equal(t, both[:2], f.attend(host("s"), turns.Request{}, "m1", "m2"), "a prompt that was taken back")
	assert.Equal(t, both[:2], f.attend(host("s"), turns.Request{}, "m1", "m2", "m4"), "and another in its place")
}

func TestUsageOfARequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prompt(host("s"), "m1", "work")
	usage := []usage.Message{{MessageID: "a1", At: f.tick(), Usage: core.Usage{CostUSD: 1}}}
	for range 2 {
		f.attend(host("s"), turns.Request{Usage: usage}, "m1")
	}
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Usage: usage}))
	assert.InDelta(t, 1, f.spent(f.current(host("s"))), 1e-9)
}

func TestARequestOfASessionThatNobodyKnowsIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	assert.Empty(t, f.attend(host("s"), turns.Request{First: true, Summary: "s1"}, "m1"))
	assert.NoDirExists(t, f.data)
}

func TestFinishedFramesAreFoldedUnlessThatIsOff(t *testing.T) {
	t.Parallel()
	for _, fold := range []bool{true, false} {
		f := newFixture(t)
		f.Fold = fold
		f.push(host("s"), "root")
		frame := f.push(host("s"), "work")
		f.pop(host("s"), "done")
		move := func(kind core.FoldKind) []core.FoldMove { return []core.FoldMove{{Kind: kind, Frame: frame.ID}} }
		a, err := turns.Attend(f.ctx, f.Project, host("s"), turns.Request{Prompts: []string{"m1"}, History: []core.FoldMessage{
			{ID: "m1", Role: core.RoleUser},
			{ID: "m2", Role: core.RoleAssistant, Moves: move(core.FoldEnter)},
			{ID: "m3", Role: core.RoleAssistant},
			{ID: "m4", Role: core.RoleAssistant, Moves: move(core.FoldLeave)},
			{ID: "m5", Role: core.RoleAssistant},
		}})
		require.NoError(t, err)
		if fold {
			assert.Equal(t, []string{"m3"}, a.Drop)
		} else {
			assert.Empty(t, a.Drop)
		}
	}
}

func TestAnAgentsFrameEndsWithItsRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.push(host("s"), "work")
	made, err := f.delegate(host("s"), children.Delegation{Agent: "agent-1", Goal: "look around", Session: "agent-session", Host: "claude-code"})
	require.NoError(t, err)
	assert.Equal(t, root.ID, made.Frame.Parent)
	assert.Contains(t, made.Context, made.Frame.ID)
	deeper := f.push(project.Caller{Session: "agent-session", Parent: "s", Host: "claude-code"}, "deeper")
	assert.Equal(t, made.Frame.ID, deeper.Parent)
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{}))
	assert.Equal(t, core.InProgress, f.get(made.Frame.ID).Status, "no host's event ends an agent of flame's")
	require.NoError(
		t,
		children.EndDelegation(f.ctx, f.Project, host("s"), made.Frame.ID, children.Ended{Session: "agent-session", End: core.ChildCompleted, Last: "all said"}),
	)
	assert.Equal(t, core.Completed, f.get(deeper.ID).Status)
	assert.Equal(t, "all said", f.get(made.Frame.ID).Summary)
}

func TestTheFirstSessionOfAnAgentsProcessIsTheAgents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.push(host("s"), "work")
	made, err := f.delegate(host("s"), children.Delegation{Agent: "agent-1", Goal: "look around", Host: "opencode"})
	require.NoError(t, err)
	inside := project.Caller{Session: "ses_1", Host: "opencode", Agent: "agent-1"}
	require.NoError(t, turns.TakeIn(f.ctx, f.Project, inside, turns.Prompt{ID: "p", Text: "look around", FromUser: true}))
	deeper := f.push(inside, "deeper")
	assert.Equal(t, made.Frame.ID, deeper.Parent)
	assert.Equal(t, root.ID, f.get(made.Frame.ID).Parent)
	assert.Equal(t, "ses_1", f.get(made.Frame.ID).Session)

	a, err := turns.Attend(f.ctx, f.Project, inside, turns.Request{First: true, Prompts: []string{"m1"}})
	require.NoError(t, err)
	assert.Empty(t, a.Inserts, "its context came with its task")
	require.NoError(t, children.Join(f.ctx, f.Project, host("s"), "agent-1", "ses_1"), "telling it again changes nothing")

	other := f.push(project.Caller{Session: "ses_2", Host: "opencode", Agent: "agent-1"}, "of another conversation")
	assert.NotEqual(t, made.Frame.ID, other.Parent, "a second conversation in the same process is not the agent's own")
}

func TestAnAgentsContextIsGivenOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(host("s"), "work")
	made, err := f.delegate(host("s"), children.Delegation{Agent: "agent-1", Goal: "look around", Session: "a", Host: "claude-code"})
	require.NoError(t, err)
	require.NotEmpty(t, made.Context)
	begun, err := briefing.Begin(f.ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, 9_500)
	require.NoError(t, err)
	assert.Empty(t, begun.Text)
	prompted, err := turns.Begin(f.ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, turns.Prompt{ID: "p", Text: "look around", FromUser: true})
	require.NoError(t, err)
	assert.Empty(t, prompted.Text)
	again, err := briefing.Begin(f.ctx, f.Project, project.Caller{Session: "a", Host: "claude-code"}, 9_500)
	require.NoError(t, err)
	assert.NotEmpty(t, again.Text, "after a compaction it is told again")
}
